"""The page of a worked example, the catalog, the checker, and what can be taken along."""
