#!/usr/bin/env bash
# Write requirements.txt and requirements-browser.txt from their .in files. The results name no index and
# no local path.
set -euo pipefail
resolver=.venv-lock
trap 'rm -rf "$resolver"' EXIT
python3 -m venv "$resolver"
"$resolver/bin/python" -m pip install --quiet --disable-pip-version-check uv
lock() { # FILE OPTION…
    local file=$1
    "$resolver/bin/uv" pip compile "${file%.txt}.in" --output-file "$file" --upgrade "${@:2}" \
        --universal --python-version 3.11 --generate-hashes --quiet \
        --no-emit-index-url --no-emit-find-links --no-annotate --no-header
    if grep -nE '://|file:|^-' "$file"; then
        echo "error: $file names an address or a path (the lines above)" >&2
        exit 1
    fi
    echo "$file: $(grep -c '==' "$file") packages"
}
lock requirements.txt
lock requirements-browser.txt --constraint requirements.txt # the same pytest in both
