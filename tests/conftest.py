"""Settings of the property tests."""

import os

from hypothesis import settings

# In environments of their own: comparing with other libraries, and testing the checks that need a
# browser. Minutes long: breaking a book. `make test-peers`, `make check-site`, `make test-faults`.
collect_ignore = ["faults", "peers", "site"]

# The same examples on every run and every machine: a red test is red for everybody.
settings.register_profile("quick", derandomize=True, max_examples=25, deadline=None)
# New examples each time, many of them: `HYPOTHESIS_PROFILE=deep pytest`.
settings.register_profile("deep", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
