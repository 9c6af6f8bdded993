#!/usr/bin/env bash
# Make the virtual environment $1 from the pinned requirements $2, and put on top what else pip is told
# to install: it leaves the pinned versions alone where they will do. Or say in one line what is missing.
set -euo pipefail
venv=$1
pinned=$2

fail() { echo "error: $*" >&2; exit 1; }

recent='import sys; sys.exit(sys.version_info < (3, 11))'
python=
for candidate in ${PYTHON:-} python3 python python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c "$recent" >/dev/null 2>&1; then python=$candidate; break; fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is missing: install it, or name it with 'make PYTHON=/path/to/python3 …'."
"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
    fail "$python has no venv module: install it (on Debian and Ubuntu: 'apt install python3-venv')."

echo "Making the environment $venv with $("$python" --version) (once; about a minute) …"
rm -rf "$venv"
trap 'rm -rf "$venv"' EXIT # whatever goes wrong, nothing half-made is left
"$python" -m venv "$venv" || fail "could not make the environment $venv: is the disk full?"
install() { # what is to be installed, options of pip: a line for each package, so that one sees it go on
    local said=$venv/said.txt
    echo "Installing $1 …"
    if "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off "${@:2}" 2>&1 |
        tee "$said" | { grep --line-buffered -oE '^(Collecting [^ ]+|Installing collected packages)' || true; }; then
        return
    elif grep -qi 'match the hashes' "$said"; then
        fail "the file fetched for $(grep -oE '[[:alnum:]._-]+==[[:alnum:].]+' "$said" | tail -n 1) has not the hash that $pinned" \
            "names: it is not the one that was locked, and nothing was installed."
    fi
    fail "$1 could not be installed: $(sed -n 's/^ERROR: //p' "$said" | tail -n 1)" \
        "(check the network, then run the same command again)."
}
install "the $(grep -c == "$pinned") packages of $pinned" --require-hashes -r "$pinned"
[ $# = 2 ] || install "${*:3}" "${@:3}"
trap - EXIT
touch "$venv/.ready"
