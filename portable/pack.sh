#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make portable` packs: portable/pack.sh BUILD OUT VERSION makes OUT/wprof-VERSION-linux-x86_64.tar.gz, with its sum
# beside it, of what is built in BUILD. In it, below one folder (src/base/self.h says how the program finds itself in it):
#   bin/wprof    the launcher            lib/wprof    the program, its loader and libraries, the agent, Graphviz's plugins
#   share        pages, completions, examples, licences               tests/gpu  what measures on a machine with a GPU
# The same build gives the same bytes: names sorted, nobody's ids, the time SOURCE_DATE_EPOCH (default: the commit's).
set -eu
export LC_ALL=C
umask 022
build=$1 out=$2 version=$3
source=$(cd "$(dirname "$0")/.." && pwd)
name=wprof-$version-linux-x86_64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name
parts=$root/lib/wprof
licences=$root/share/doc/wprof/licences
loader=ld-linux-x86-64.so.2
CC=${CC:-cc}

die() {
    echo "portable: $*" >&2
    exit 1
}

# ---- the program, installed as anywhere, then moved behind the launcher ----

program() {
    ! ldd "$build/wprof" | grep -qE 'lib(a|ub)san' || die "$build has sanitizers: build without SAN=1"
    env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory -C "$source" O="$build" DESTDIR="$root" PREFIX= install-files >/dev/null
    mv "$root/bin/wprof" "$parts/wprof"
    strip --strip-all "$parts/wprof"
    strip --strip-debug "$parts/libwprof-cuda.so"
    "$CC" -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -I"$source/src" -ffile-prefix-map="$source"=. -static -s \
        -o "$root/bin/wprof" "$source/portable/launcher.c" ||
        die "the launcher must be linked statically: is there a libc.a (Fedora: glibc-static)?"
}

# ---- libraries: "name path" of each, below lib/wprof ----

# loaded PROGRAM...: what the loader would load for them, and the loader.
loaded() {
    ldd "$@" | awk -v loader=$loader '
        $2 == "=>" && $3 == "not" { print "portable: there is no " $1 >"/dev/stderr"; bad = 1 }
        $2 == "=>" && $3 ~ /^\// { print $1, $3 }
        $1 ~ "/" loader "$" && $2 ~ /^\(/ { print loader, $1 }
        END { exit bad }' | sort -u
}

# Graphviz's core writes svg and dot; the bitmaps' plugins need fonts, and 10 MB of libraries.
plugins() {
    local dir file
    dir=$(loaded "$build/wprof" | awk '$1 ~ /^libgvc\./ { print $2 }')
    [ -n "$dir" ] || return 0 # built without
    for file in core dot_layout neato_layout; do
        file=$(cd "${dir%/*}/graphviz" && ls libgvplugin_$file.so.? | head -1)
        echo "graphviz/$file ${dir%/*}/graphviz/$file"
    done
}

# The host's /etc/ld.so.preload names libraries for the host's C library: one that needs a newer one than ours would keep us from
# starting. The loader has no option against it, so it looks at a path as long that is never there.
forget_preload() {
    local was=/etc/ld.so.preload never=/proc/self/nothing
    [ "$(grep -aoF $was "$1" | wc -l)" = 1 ] || die "$1: where it reads $was from is not found"
    sed -i "s|${was//./\\.}|$never|" "$1"
}

# 30 MB of the world's languages, which come with libarchive's reader of xar, by libxml2: of libarchive, wprof has tar read and
# written. A table of none is what ICU takes for absent.
without_languages() {
    local file n
    file=$(cd "$parts" && ls libicudata.so.?? 2>/dev/null) || return 0
    n=${file##*.}
    echo "const char icudt${n}_dat[64] __attribute__((aligned(16))) = {0};" |
        "$CC" -shared -nostdlib -s -x c - -Wl,-soname,"$file" -o "$parts/$file"
}

# What is in the plugins that are here, from the list that the installed Graphviz has of its own.
plugin_list() {
    local dir config file
    dir=$(awk '$1 ~ /^graphviz\// { print $2; exit }' "$work/plugins")
    [ -n "$dir" ] || return 0
    config=$(ls "${dir%/*}"/config* 2>/dev/null | head -1)
    [ -n "$config" ] || die "no list of plugins in ${dir%/*}: run \`dot -c\` as root"
    while read -r file _; do
        awk -v file="${file#*/}" '$1 == file { on = 1 } on { print } /^}/ { on = 0 }' "$config"
    done <"$work/plugins" >"$parts/graphviz/${config##*/}"
}

# Of the same C library, what a library of the host's may ask for: the host's own would not go with this one.
of_libc() {
    local file dir
    dir=$(awk '$1 == "libc.so.6" { print $2 }' "$work/loaded")
    for file in libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2 libnss_{files,compat,dns}.so.2; do
        [ ! -e "${dir%/*}/$file" ] || echo "$file ${dir%/*}/$file"
    done
}

# What the program loads when it needs it.
on_demand() {
    /sbin/ldconfig -p | awk '$1 == "libarchive.so.13" && /x86-64/ { print $1, $NF; exit }'
}

libraries() {
    local file path
    plugins >"$work/plugins"
    on_demand >>"$work/plugins"
    # shellcheck disable=SC2046
    loaded "$build/wprof" $(awk '{ print $2 }' "$work/plugins") >"$work/loaded"
    of_libc >"$work/of_libc"
    sort -u "$work/plugins" "$work/loaded" "$work/of_libc" >"$work/libraries"
    while read -r file path; do
        install -D -m 644 "$path" "$parts/$file"
    done <"$work/libraries"
    [ -e "$parts/$loader" ] || die "this is no x86-64 Linux with the GNU C library"
    chmod 755 "$parts/$loader"
    forget_preload "$parts/$loader"
    without_languages
    plugin_list
}

# ---- licences: of each package that something here is from, and a list of what is from which ----

# spellings PATH: under which a package may have it, where /lib is a link to /usr/lib.
spellings() {
    local real
    real=$(readlink -f "$1")
    printf '%s\n' "$real" "$1" "/usr$1" "${real#/usr}"
}

# "path package version" of what is asked for by its spellings, as far as the distribution knows.
packages() {
    local paths
    mapfile -t paths
    if command -v dpkg-query >/dev/null; then
        dpkg-query -S "${paths[@]}" 2>/dev/null | sed -E 's/^([^:, ]+)[^ ]*: /\1 /' | sort -u >"$work/owners"
        # shellcheck disable=SC2046
        dpkg-query -W -f '${Package} ${Version}\n' $(cut -d' ' -f1 "$work/owners" | sort -u) | sort -u >"$work/versions"
        join -o 1.2,1.1,2.2 "$work/owners" "$work/versions"
    elif command -v rpm >/dev/null; then
        for path in "${paths[@]}"; do
            rpm -qf --qf "$path %{NAME} %{VERSION}-%{RELEASE}\n" "$path" 2>/dev/null || true
        done
    fi
}

licence_of() {
    local f
    for f in "/usr/share/doc/$1/copyright" "/usr/share/licenses/$1"/*; do
        [ ! -f "$f" ] || cat "$f"
    done
}

licences() {
    local file path spelling package
    declare -A owner=()
    mkdir -p "$licences"
    echo "libiberty(linked-in) $("$CC" -print-file-name=libiberty.a)" >>"$work/libraries"
    while read -r path package; do owner[$path]=$package; done \
        < <(while read -r _ path; do spellings "$path"; done <"$work/libraries" | packages)
    while read -r file path; do
        package="of no package"
        for spelling in $(spellings "$path"); do package=${owner[$spelling]-$package}; done
        echo "$file $package" >>"$licences/LIST"
        package=${package%% *}
        [ -e "$licences/$package" ] || licence_of "$package" >"$licences/$package"
    done <"$work/libraries"
    echo "$loader is changed: it does not read /etc/ld.so.preload" >>"$licences/LIST"
    [ ! -e "$parts"/libicudata.so.?? ] || echo "libicudata is one of ours: it has no data" >>"$licences/LIST"
    find "$licences" -empty -delete
    for path in $(grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.+-]+' "$licences"/* | sed 's/[.]*$//' | sort -u); do
        [ ! -f "$path" ] || install -m 644 "$path" "$licences/${path##*/}"
    done
}

# ---- what it is, and the tarball ----

about() {
    local revision build_id system glibc
    revision=$(git -C "$source" rev-parse --short=12 HEAD 2>/dev/null) || revision=
    [ -z "$revision" ] || git -C "$source" diff --quiet HEAD -- 2>/dev/null || revision="$revision with changes"
    build_id=$(readelf -n "$parts/wprof" | sed -n 's/.*Build ID: //p')
    system=$(. /etc/os-release && echo "$PRETTY_NAME")
    glibc=$("$parts/$loader" --version | sed -n '1s/.* \([0-9.]*\)\.$/\1/p')
    echo "${revision:+commit $revision, }build id ${build_id:-none}, libraries of $system, glibc $glibc"
}

tarball() {
    local when
    when=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 315532800)} # else 1980
    tar -C "$work" --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --mode=u+rw,go+rX,go-w --format=ustar \
        -cf - "$name" | gzip -n
}

program
libraries
licences
about >"$parts/portable"
install -m 644 "$source/portable/README.txt" "$root/README.txt"
install -m 644 "$source/LICENSE" "$root/LICENSE"
install -D -m 755 "$source/tests/gpu/device.sh" "$root/tests/gpu/device.sh"
install -D -m 644 "$source/tests/gpu/train.py" "$root/tests/gpu/train.py"
mkdir -p "$out"
tarball >"$out/$name.tar.gz.tmp"
mv "$out/$name.tar.gz.tmp" "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
kB=$(($(stat -c %s "$out/$name.tar.gz") / 1000))
echo "$out/$name.tar.gz: $((kB / 1000)).$((kB % 1000 / 100)) MB"
[ $kB -le 30000 ] || die "it is larger than 30 MB"
