"""What importing the package brings along, asked of a fresh interpreter."""

import os
import subprocess
import sys

_PROGRAM = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
import selfattn_ref
assert selfattn_ref.__file__.startswith(sys.argv[1]), selfattn_ref.__file__
print(*sorted(set(sys.modules) - before))
"""


def imported_modules(folder):
    """Return the names of all modules that `import selfattn_ref` from `folder` loads."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=environment,
    )
    return done.stdout.split()


def strangers(modules):
    """Return the packages among `modules` that are neither ours, NumPy nor of Python itself."""
    packages = {name.partition(".")[0] for name in modules}
    return packages - {"selfattn_ref", "numpy"} - set(sys.stdlib_module_names)
