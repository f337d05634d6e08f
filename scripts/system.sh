#!/bin/sh
# Install the system programs that the tests use, where they are missing: a browser to look at pages.
set -eu

missing=""
[ -x /usr/bin/chromium ] || missing="$missing chromium"
[ -n "$missing" ] || exit 0

root=""
[ "$(id -u)" = 0 ] || root=sudo
if ! command -v apt-get >/dev/null || { [ -n "$root" ] && ! command -v sudo >/dev/null; }; then
    echo "system: cannot install$missing here (no apt-get, or neither root nor sudo)." >&2
    echo "system: the tests that look at pages in a browser will be skipped; install$missing to run them." >&2
    exit 0
fi
echo "system: installing$missing"
if ! { $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends $missing >/dev/null; }; then
    echo "system: apt-get could not install$missing; the tests that need a browser will be skipped." >&2
fi
