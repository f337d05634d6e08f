#!/bin/sh
# Install the system programs that the tests use, where they are missing: a browser to look at
# pages, a PostgreSQL server to start for themselves, and Java for Spark.
set -eu

has_browser() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
        command -v google-chrome >/dev/null
}

has_postgres() {
    command -v initdb >/dev/null && return 0
    for program in /usr/lib/postgresql/*/bin/initdb; do [ -x "$program" ] && return 0; done
    return 1
}

missing=""
has_browser || missing="$missing chromium"
has_postgres || missing="$missing postgresql"
command -v java >/dev/null || missing="$missing default-jre-headless"
[ -n "$missing" ] || exit 0

root=""
[ "$(id -u)" = 0 ] || root=sudo
if ! command -v apt-get >/dev/null || { [ -n "$root" ] && ! command -v sudo >/dev/null; }; then
    echo "system: cannot install$missing here (no apt-get, or neither root nor sudo)." >&2
    echo "system: the tests that need them will be skipped; install$missing to run them." >&2
    exit 0
fi

install() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The tests start servers of their own: the package shall neither make nor start one.
install_postgres() {
    terms=/etc/postgresql-common/createcluster.conf
    install postgresql-common && $root cp "$terms" "$terms.discreet" || return 1
    echo "create_main_cluster = false" | $root tee -a "$terms" >/dev/null
    failed=0
    install postgresql || failed=1
    $root mv "$terms.discreet" "$terms"
    return $failed
}

echo "system: installing$missing"
$root apt-get update -qq || true
for package in $missing; do
    if [ "$package" = postgresql ]; then install_postgres; else install "$package"; fi ||
        echo "system: apt-get could not install $package; the tests that need it will be skipped." >&2
done
