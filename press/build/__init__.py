"""Build the book: execute cells, run Sphinx, check the pages, put the site in its place."""
