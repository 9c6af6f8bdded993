"""Measure the speed and the memory of the library: ``python -m benchmarks``."""
