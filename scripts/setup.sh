#!/bin/sh
# Creates .venv with the gateway of this checkout, if missing or outdated. Installs only files whose
# hash is in the requirements, which scripts/lock writes.
# Usage: EXTRAS=... ; . scripts/setup.sh     ("" or "[dev]"); sets VENV. Run from the top of the checkout.
set -eu
VENV="$PWD/.venv"
PYTHON="${PYTHON:-python3}"
SUM="$(cat pyproject.toml scripts/requirements.txt scripts/requirements-dev.txt | cksum)"
WANTED="$EXTRAS $SUM"

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or newer is required. Set PYTHON to its command." >&2
    exit 1
fi
if [ ! -x "$VENV/bin/python" ]; then
    echo "Creating .venv ..." >&2
    "$PYTHON" -m venv "$VENV"
fi
# An installation with "[dev]" is sufficient for one without.
STAMPS="$(cat "$VENV/installed" 2>/dev/null || true)"
case "$STAMPS" in
    "$WANTED" | "[dev] $SUM") ;;
    *)
        echo "Installing the gateway and its dependencies ..." >&2
        REQUIREMENTS=scripts/requirements.txt
        [ -z "$EXTRAS" ] || REQUIREMENTS=scripts/requirements-dev.txt
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
            --require-hashes -r "$REQUIREMENTS" >&2
        # No checkout can be installed with --require-hashes. The build backend is already
        # installed, because pip would download one without checking a hash.
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
            --no-deps --no-build-isolation -e . >&2
        echo "$WANTED" > "$VENV/installed"
        ;;
esac
