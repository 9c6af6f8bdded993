"""The page that a host shows at a wrong address, however deep."""

START = '<meta charset="utf-8">'


def from_any_depth(page: str, base: str) -> str:
    """Return the page with links that lead on from `base`, unless it names its own."""
    return page if "<base " in page else page.replace(START, f'{START}<base href="{base}">', 1)
