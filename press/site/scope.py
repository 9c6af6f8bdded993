"""Tell whether the whole site is written, or some of its pages."""

from sphinx.application import Sphinx


def is_partial(app: Sphinx) -> bool:
    """Tell whether what all pages make together is there, and stays as it is."""
    return bool(app.config.reread)


def is_whole(app: Sphinx, exception: Exception | None) -> bool:
    """Tell whether the whole site is written, and nothing has gone wrong so far."""
    return exception is None and app.builder.format == "html" and not is_partial(app)


def register(app: Sphinx) -> None:
    """Register the setting that names the pages to be read again."""
    app.add_config_value("reread", [], "", [list])
