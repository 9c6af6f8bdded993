"""What the library says of a state of each figure that answers back: one module for each figure.

`expected(state, data)` returns the numbers that the script's `compute` has to find, by name.
"""
