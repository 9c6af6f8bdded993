"""The whole book as one PDF, made from the built site: `make pdf`."""
