#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom. A folder may include its own headers and those of the folders listed with it.
. "$(dirname "$0")/lib.bash"

allowed() {
    case $1 in
    base) echo base ;;
    model) echo model base ;;
    platform) echo platform model base bpf ;;
    unwind) echo unwind platform model base bpf ;;
    collect | topo) echo "$1" unwind platform model base bpf ;;
    record) echo record collect topo unwind platform model base ;;
    exchange) echo exchange unwind platform model base ;;
    analyze) echo analyze platform model base ;;
    render) echo render model base ;;
    agent) echo agent unwind base bpf ;; # of unwind what allocates nothing: the link tells
    cmd) echo cmd record collect topo exchange analyze render unwind platform model base ;;
    bpf) echo bpf ;;
    esac
}

# "file folder included-folder" for every #include "folder/...". Generated files are in no folder.
includes() {
    files src cmd bpf | grep '\.[ch]$' | xargs grep -HE '^ *# *include "' | sed -E 's/^([^:]*):.*include "([^"]*)".*/\1 \2/' |
        while read -r file inc; do
            folder=${file#src/}
            folder=${folder%%/*}
            case $inc in
            *.def) continue ;; # lists of names, where a header declares what they list
            */*) to=${inc%%/*} ;;
            *) [ -e "$(dirname "$file")/$inc" ] && continue || { [ -e "cmd/$inc" ] && to=cmd; } || continue ;;
            esac
            echo "$file $folder $to"
        done
}

includes | while read -r file folder to; do
    [[ " $(allowed "$folder") " == *" $to "* ]] || echo "$file may not include $to/"
done | check "includes follow the layers"

# A library's headers are included by one .c file, so that leaving it out is dropping that file.
library() {
    case $1 in
    bpf/*) echo libbpf ;;
    elfutils/libdw* | dwarf.h) echo libdw ;;
    elfutils/* | libelf.h | gelf.h) echo libelf ;;
    zstd*.h) echo libzstd ;;
    sha2*.h | md5.h) echo libmd ;;
    lzma.h) echo liblzma ;;
    zlib.h) echo zlib ;;
    ini.h) echo inih ;;
    perfmon/*) echo libpfm4 ;;
    libiberty/* | demangle.h) echo libiberty ;;
    archive*.h) echo libarchive ;;
    curl/*) echo libcurl ;;
    cmark.h) echo cmark ;;
    graphviz/cgraph.h) echo libcgraph ;;
    graphviz/*) echo libgvc ;;
    sqlite3.h) echo sqlite ;;
    cupti*.h | cuda*.h) echo cuda ;;
    # the C library and the kernel
    sys/* | linux/* | rdma/* | asm/* | net/* | netinet/* | arpa/*) ;;
    assert.h | ctype.h | dirent.h | dlfcn.h | elf.h | endian.h | err.h | errno.h | fcntl.h | float.h | fnmatch.h | glob.h | \
        grp.h | inttypes.h | libgen.h | limits.h | link.h | locale.h | math.h | netdb.h | paths.h | poll.h | pthread.h | pty.h | pwd.h | regex.h | \
        sched.h | semaphore.h | setjmp.h | signal.h | spawn.h | stdalign.h | stdarg.h | stdatomic.h | stdbool.h | stddef.h | \
        stdint.h | stdio.h | stdlib.h | string.h | strings.h | termios.h | time.h | ucontext.h | unistd.h | wchar.h | wordexp.h | \
        cpuid.h | immintrin.h | x86intrin.h | getopt.h | malloc.h | syscall.h | byteswap.h | execinfo.h | utime.h | uchar.h) ;;
    *) echo "unknown:$1" ;;
    esac
}

foreign=$(files src cmd | grep '\.[ch]$' | xargs grep -HE '^ *# *include <' | sed -E 's/^([^:]*):.*include <([^>]*)>.*/\1 \2/' |
    while read -r file inc; do
        lib=$(library "$inc")
        [ -z "$lib" ] || echo "$lib $file"
    done | sort -u)

printf '%s\n' "$foreign" | awk '
    $1 ~ /^unknown:/ { print $2 ": <" substr($1, 9) "> is of no library that tests/lint/layers.sh knows"; next }
    $2 ~ /\.h$/ { print $2 " is a header and includes one of " $1 }
    { n[$1]++; who[$1] = who[$1] " " $2 }
    END { for (l in n) if (n[l] > 1) print l " is included by" who[l] }' | check "one file a foreign library"

# The two perf_event headers don't go together.
files src cmd | grep '\.[ch]$' | xargs grep -l 'perfmon/' | xargs -r grep -l 'linux/perf_event.h' |
    sed 's/$/ includes linux\/perf_event.h beside libpfm4/' | check "perf_event headers are apart"
finish
