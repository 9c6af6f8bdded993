#!/usr/bin/env bash
# Run the tests of what the library computes and promises with the NumPy $1, in an environment of its
# own, which has nothing of the book. Without $1: with the oldest that pyproject.toml declares.
set -euo pipefail
cd "$(dirname "$0")/../.."
numpy=${1:-$(sed -nE 's/^dependencies = \["numpy>=([0-9.]+)"\]$/\1/p' pyproject.toml).0}
venv=.venv-numpy
tests=(tests selfattn_ref --ignore=tests/pages --ignore=tests/project)

bash press/environments/environment.sh "$venv" requirements.txt - <<EOF
numpy==$numpy
pytest
hypothesis
mpmath
ml-dtypes
jsonschema
numpydoc
EOF
echo "Testing with NumPy $("$venv/bin/python" -c 'import numpy, platform; print(numpy.__version__, "and Python", platform.python_version())') …"
"$venv/bin/python" -m pytest "${tests[@]}"
