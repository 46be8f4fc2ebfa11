# SPDX-License-Identifier: Apache-2.0
# A lint is a bash script that prints TAP: `check NAME < faults` passes where there is no line of faults.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=${BUILD:-$PWD/build}
WPROF=${WPROF:-$BUILD/wprof}
lint_n=0
shopt -s lastpipe # `... | check` counts in this shell

check() {
    local faults
    faults=$(cat)
    lint_n=$((lint_n + 1))
    if [ -z "$faults" ]; then
        echo "ok $lint_n - $1"
    else
        printf '%s\n' "$faults" | sed 's/^/# /'
        echo "not ok $lint_n - $1"
    fi
}

skip_check() {
    lint_n=$((lint_n + 1))
    echo "ok $lint_n - $1 # SKIP needs $2"
}

finish() {
    echo "1..$lint_n"
}

# Files of the project: those git knows or would add, without what is built.
files() {
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r f; do
            [ -f "$f" ] && echo "$f"
        done
    else
        find "$@" -type f 2>/dev/null
    fi
}
