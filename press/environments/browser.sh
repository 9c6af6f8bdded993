#!/usr/bin/env bash
# Run Python with the given arguments where the tools of the browser are installed. That environment is
# made first if it is missing or older than what it is made from, and a Chromium installed if there is
# none and this may install one.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=.venv-browser

for source in requirements-browser.txt press/environments/environment.sh; do
    if [ "$source" -nt "$venv/.ready" ]; then # also if there is no stamp: it is written last
        bash press/environments/environment.sh "$venv" requirements-browser.txt
        break
    fi
done

found=
for name in ${CHROMIUM:-} chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then found=$(command -v "$name"); break; fi
done
if [ -z "$found" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq chromium >/dev/null
    found=$(command -v chromium)
fi
if [ -z "$found" ]; then
    echo "error: no Chromium: install it ('apt install chromium'), or name it with 'CHROMIUM=/path/to/it make …'." >&2
    exit 1
fi
CHROMIUM=$found exec "$venv/bin/python" "$@"
