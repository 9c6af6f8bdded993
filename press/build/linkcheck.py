"""What `make check-links` asks for.

Publishers turn programs away. Whether a DOI exists, the registry tells everybody.
"""

import re

from sphinx.application import Sphinx


def at_the_registry(app: Sphinx, address: str) -> str | None:
    """Return where the registry answers for a DOI; nothing for another address."""
    doi = re.fullmatch(r"https?://(?:dx\.)?doi\.org/(10\..+)", address)
    return f"https://doi.org/api/handles/{doi[1]}" if doi else None
