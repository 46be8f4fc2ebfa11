#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make demo` does once wprof is built: record examples/train.py, make the page, say what was seen and where it is.
# Environment: WPROF the program, OUT the folder for the results, TORCH=no to do without PyTorch.
set -u
cd "$(dirname "$0")/.." || exit 1
WPROF=${WPROF:-$PWD/build/wprof}
OUT=${OUT:-build/demo}

# A python3 that imports the module: the one on PATH, else the system's (a pyenv or conda python hides it).
find_python() {
    local p
    for p in python3 /usr/bin/python3; do
        "$p" -c "import $1" >/dev/null 2>&1 && command -v "$p" && return
    done
    return 1
}

[ "${TORCH:-}" = no ] || PYTHON=$(find_python torch) || echo "No Python here imports torch: NumPy or plain Python will do."
[ -n "${PYTHON:-}" ] || PYTHON=$(find_python numpy) || PYTHON=$(find_python sys) || {
    echo "demo: there is no python3 here (make deps)" >&2
    exit 1
}

# Recording in the kernel needs root, or the capabilities.
as_root=()
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
    as_root=(sudo)
fi

mkdir -p "$OUT"
echo "== recording: $PYTHON examples/train.py"
"${as_root[@]}" "$WPROF" record --force -o "$OUT/session" -- "$PYTHON" examples/train.py || exit
echo
echo "== wprof report $OUT/session"
"$WPROF" report "$OUT/session" || exit
echo
echo "== wprof show $OUT/session"
"$WPROF" show --top 10 "$OUT/session" || exit
"$WPROF" report --format html -o "$OUT/report.html" "$OUT/session" # where wprof has cmark
"$WPROF" render --format html -o "$OUT/train.html" "$OUT/session" || exit
echo
echo "session: $OUT/session"
echo "page:    $OUT/train.html (open it in a browser); the report: $OUT/report.html"
echo "next:    $WPROF show --tree $OUT/session; $WPROF record -- python3 examples/train.py --fixed"
