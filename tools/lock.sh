#!/usr/bin/env bash
# Write requirements.txt from requirements.in. The result names no index and no local path.
set -euo pipefail
resolver=.venv-lock
trap 'rm -rf "$resolver"' EXIT
python3 -m venv "$resolver"
"$resolver/bin/python" -m pip install --quiet --disable-pip-version-check uv
"$resolver/bin/uv" pip compile requirements.in --output-file requirements.txt --upgrade \
    --universal --python-version 3.11 --generate-hashes --quiet \
    --no-emit-index-url --no-emit-find-links --no-annotate --no-header
if grep -nE '://|file:|^-' requirements.txt; then
    echo "error: requirements.txt names an address or a path (the lines above)" >&2
    exit 1
fi
echo "requirements.txt: $(grep -c '==' requirements.txt) packages"
