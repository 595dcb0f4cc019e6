#!/bin/sh
# Makes .venv with the gateway installed from this checkout, unless it is there already.
# Usage: EXTRAS=... ; . scripts/setup.sh     ("" or "[dev]"); sets VENV. Called from the checkout's top.
set -eu
VENV="$PWD/.venv"
PYTHON="${PYTHON:-python3}"
WANTED="$EXTRAS $(cat pyproject.toml scripts/constraints.txt | cksum)"

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or newer is needed; set PYTHON to its command." >&2
    exit 1
fi
if [ ! -x "$VENV/bin/python" ]; then
    echo "Making .venv ..." >&2
    "$PYTHON" -m venv "$VENV"
fi
# The stamp of the larger installation serves the smaller one too.
STAMPS="$(cat "$VENV/installed" 2>/dev/null || true)"
case "$STAMPS" in
    "$WANTED" | "[dev] $(cat pyproject.toml scripts/constraints.txt | cksum)") ;;
    *)
        echo "Installing the gateway and what it needs ..." >&2
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -c scripts/constraints.txt -e ".$EXTRAS" >&2
        echo "$WANTED" > "$VENV/installed"
        ;;
esac
