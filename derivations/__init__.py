"""Derive the expected values of the worked examples without the code that they check.

Nothing here imports NumPy or selfattn_ref. Decimals are read from the example files as exact
fractions; exponentials and roots are taken with 50 digits; sums are plain loops. Only the last step
rounds, to the nearest double.

    python -m derivations                   derive every example and compare
    python -m derivations --write SA010     fill in the expected values of a new example
    python -m derivations --release SA010   enter it in released.json: from now on it is fixed
    python -m derivations --traces DIR      write how every expected value was made, step by step
    python -m derivations --digests         enter the digests in digests.json and traces.json
    python -m derivations --generated       derive the generated cases and compare
    python -m derivations --write-generated fill in theirs, and enter new ones in generated.json
"""
