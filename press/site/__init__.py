"""What all pages share: frame, addresses, citation, search, fonts, icons."""
