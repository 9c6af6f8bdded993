#!/usr/bin/env bash
# Run Python with the given arguments where PyTorch, JAX, Keras and ONNX are installed. That environment
# is made first if it is missing or older than what it is made from; a gigabyte or more.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=.venv-peers

for source in requirements.txt requirements-peers.txt press/environments/environment.sh; do
    if [ "$source" -nt "$venv/.ready" ]; then # also if there is no stamp: it is written last
        bash press/environments/environment.sh "$venv" requirements.txt requirements-peers.txt
        break
    fi
done
# A library that is missing here is an error; elsewhere, the tests that need it are skipped.
PEERS=required exec "$venv/bin/python" "$@"
