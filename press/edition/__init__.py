"""The whole book as two PDFs, made from the built site: `make pdf`."""
