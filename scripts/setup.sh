#!/bin/sh
# Makes .venv with the gateway installed from this checkout, unless it is there already. pip takes
# files only whose hash is in the requirements; scripts/lock writes these.
# Usage: EXTRAS=... ; . scripts/setup.sh     ("" or "[dev]"); sets VENV. Called from the checkout's top.
set -eu
VENV="$PWD/.venv"
PYTHON="${PYTHON:-python3}"
SUM="$(cat pyproject.toml scripts/requirements.txt scripts/requirements-dev.txt | cksum)"
WANTED="$EXTRAS $SUM"

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
    "$WANTED" | "[dev] $SUM") ;;
    *)
        echo "Installing the gateway and what it needs ..." >&2
        REQUIREMENTS=scripts/requirements.txt
        [ -z "$EXTRAS" ] || REQUIREMENTS=scripts/requirements-dev.txt
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
            --require-hashes -r "$REQUIREMENTS" >&2
        # With --require-hashes pip takes no checkout. The build backend is installed: pip would
        # fetch one without a hash.
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
            --no-deps --no-build-isolation -e . >&2
        echo "$WANTED" > "$VENV/installed"
        ;;
esac
