#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Brings the CPythons of other Debian suites into a folder for the tests, without touching the system's own packages or
# sources: fetch-pythons.sh [DIR]     (build/pythons; needs apt, dpkg and patchelf; about 60 MB from a Debian mirror)
# Each becomes DIR/VERSION/root/usr/bin/py, a copy whose own loader and libraries it is bound to.
set -eu

dir=${1:-build/pythons}
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
for tool in apt-get dpkg patchelf; do
    command -v "$tool" >/dev/null || { echo "fetch-pythons: needs $tool" >&2; exit 1; }
done
uri=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
[ -n "$uri" ] || uri=$(sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list | head -n 1)
[ -n "$uri" ] || { echo "fetch-pythons: no Debian mirror in apt's sources" >&2; exit 1; }

apt=$dir/apt
mkdir -p "$apt/etc/apt/apt.conf.d" "$apt/etc/apt/preferences.d" "$apt/var/lib/apt/lists/partial" \
    "$apt/var/cache/apt/archives/partial" "$apt/var/lib/dpkg"
: >"$apt/var/lib/dpkg/status"
for suite in bullseye trixie sid; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
done >"$apt/etc/apt/sources.list"
run_apt() {
    apt-get -q -o Dir="$apt" -o Dir::State::status="$apt/var/lib/dpkg/status" \
        -o Dir::Etc::trusted=/etc/apt/trusted.gpg -o Dir::Etc::trustedparts=/etc/apt/trusted.gpg.d "$@"
}
run_apt update

bring() { # VERSION SUITE PACKAGES...
    version=$1 suite=$2
    shift 2
    into=$dir/$version
    mkdir -p "$into/root"
    list=
    for package; do list="$list $package/$suite"; done
    # shellcheck disable=SC2086 # a list of words
    (cd "$into" && run_apt download $list)
    for deb in "$into"/*.deb; do dpkg -x "$deb" "$into/root"; done
    rm -f "$into"/*.deb
    loader=$(find "$into/root" \( -name 'ld-linux-x86-64.so.2' -o -name 'ld-2.*.so' \) -type f | head -n 1)
    cp "$into/root/usr/bin/python$version" "$into/root/usr/bin/py"
    patchelf --set-interpreter "$loader" --force-rpath \
        --set-rpath "$into/root/usr/lib/x86_64-linux-gnu:$into/root/lib/x86_64-linux-gnu" "$into/root/usr/bin/py"
    PYTHONHOME=$into/root/usr "$into/root/usr/bin/py" -c 'import sys; print("fetched CPython", sys.version.split()[0])'
}

common='libc6 zlib1g libexpat1'
of() { echo "python$1-minimal libpython$1-minimal libpython$1-stdlib libpython$1-dev"; }
# shellcheck disable=SC2046,SC2086 # lists of words
{
    bring 3.9 bullseye $(of 3.9) $common
    bring 3.13 trixie $(of 3.13) $common
    bring 3.14 sid $(of 3.14) $common libzstd1
}
