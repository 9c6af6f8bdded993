"""The budgets of the built site, measured in a real browser: `make measure`."""
