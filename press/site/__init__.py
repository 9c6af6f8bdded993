"""What all pages share: theme, contents, addresses, citation, search."""
