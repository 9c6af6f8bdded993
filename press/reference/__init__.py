"""Pages of the reference that are made from all other pages."""
