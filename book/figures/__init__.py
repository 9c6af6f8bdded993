"""What the pages share: figures, tables, and numbers for the prose."""
