#!/usr/bin/env bash
# Make the virtual environment $1 from the requirements file $2, and from the file $3 on top if one is
# given, or say in one line what is missing.
set -euo pipefail
venv=$1
pinned=$2
more=${3:-}

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
if command -v uv >/dev/null 2>&1; then
    install=(uv pip install --python "$venv/bin/python")
else
    install=("$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off --quiet)
fi
"${install[@]}" --require-hashes -r "$pinned" ||
    fail "the packages of $pinned could not be installed: check the network, then run the same command again."
if [ -n "$more" ]; then
    # Without their hashes, which pip would then ask of $more too, the pins of $pinned go on
    # to hold, but for a package that $more pins itself.
    awk -F '==' 'NR == FNR { own[$1]; next } /==/ && !($1 in own) { sub(/ *\\$/, ""); print }' \
        "$more" "$pinned" >"$venv/constraints.txt"
    "${install[@]}" --constraint "$venv/constraints.txt" -r "$more" ||
        fail "the packages of $more could not be installed: check the network, then run the same command again."
fi
trap - EXIT
touch "$venv/.ready"
