#!/bin/sh
# Make a virtual environment and install the project into it: setup.sh PYTHON VENV WHAT [PINS]
# With PINS, a file of versions and hashes, nothing else is installed; where one of its files does
# not exist for this machine, WHAT is installed by its ranges instead.
set -eu
python=$1 venv=$2 what=$3 pins=${4:-}

die() { printf 'setup: %s\n' "$1" >&2; exit 2; }

[ -n "$python" ] || die "no python3 was found. Install Python 3.11 or later and run make again."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "$python is older than 3.11. Name a newer one: make PYTHON=/path/to/python3.11 demo"

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    root=""
    [ "$(id -u)" = 0 ] || root=sudo
    command -v apt-get >/dev/null && { [ -z "$root" ] || command -v sudo >/dev/null; } ||
        die "Python's venv module is missing and cannot be installed here (no apt-get, or neither root nor sudo). Install your system's python3-venv package."
    echo "setup: installing python3-venv"
    $root apt-get update -qq && $root apt-get install -y -qq python3-venv ||
        die "apt-get could not install python3-venv. Install it by hand and run make again."
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip install -q --disable-pip-version-check "$@"; }

if [ -n "$pins" ]; then
    echo "setup: installing what $pins pins into $venv (a few minutes the first time)"
    if pip --require-hashes -r "$pins" && pip --no-build-isolation --no-deps -e .; then
        exit 0
    fi
    echo "setup: the pinned files cannot be installed here (above is why); installing by ranges." >&2
fi
echo "setup: installing $what into $venv (a few minutes the first time)"
pip -e "$what"
