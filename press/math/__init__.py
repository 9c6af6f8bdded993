"""TeX into MathML and into words."""
