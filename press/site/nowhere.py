"""The page that a host shows at a wrong address, however deep."""

START = '<meta charset="utf-8">'


def from_any_depth(page: str, base: str) -> str:
    """Return the page with links that lead on from `base`."""
    return page.replace(START, f'{START}<base href="{base}">', 1)
