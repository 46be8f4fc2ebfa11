#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every CPython from 3.8 to 3.14 that is here, recorded for real: pyenv's, the system's, and those that
# tests/tools/fetch-pythons.sh brought.
load common

setup() {
    need_tier_a
    cd "$BATS_TEST_TMPDIR"
    BURN=$ROOT/tests/fixtures/python/burn.py
}

teardown() {
    # -X perf leaves its map behind
    grep -lsF "$BURN" /tmp/perf-*.map | xargs -r rm -f
}

# order FOLDED: "RIGHT WRONG" samples among those where spin() runs: the Python frames in the one order that burn.py has, C
# frames where it calls through sorted, reduce, re.sub and sum, and no eval loop beside the frames that replace it.
order() {
    awk '
        { n = $NF; sub(/ [0-9]+$/, ""); if (index($0, "spin (burn.py)") == 0) next
          names = ""; calls = ""; depth = split($0, f, ";")
          for (i = 1; i <= depth; i++) {
              if (f[i] !~ /\.py\)$/) { c++; continue }
              name = f[i]; sub(/^Worker\./, "", name); sub(/ .*/, "", name)
              if (name == "key" || name == "reducer" || name == "replace" || name == "numbers") calls = calls (c > 0)
              names = names " " name; c = 0
          }
          if (names == " <module> main key reducer __init__ sub replace numbers spin" && calls == "1111" &&
              $0 !~ /EvalFrameDefault|_TAIL_CALL|py::/) right += n
          else { wrong += n; print $0 > "/dev/stderr" } }
        END { print right + 0, wrong + 0 }' "$1"
}

check_version() {
    find_python "$1"
    shift
    "$WPROF" record -q -F 499 -o s -- "${PYTHON[@]}" "$@" "$BURN" 1
    folded s >folded
    read -r right wrong <<<"$(order folded)"
    [ "$right" -gt 150 ]
    [ $(((wrong - 2) * 200)) -le "$right" ] # a frame that is only just being entered may show as its eval loop
    holds "$(quality s python_share) >= 0.98"
    whole s 0.01
}

@test "CPython 3.8: Python, C and Python again in order" { check_version 3.8; }
@test "CPython 3.9: Python, C and Python again in order" { check_version 3.9; }
@test "CPython 3.10: Python, C and Python again in order" { check_version 3.10; }
@test "CPython 3.11: Python, C and Python again in order" { check_version 3.11; }
@test "CPython 3.12: Python, C and Python again in order" { check_version 3.12; }
@test "CPython 3.13: Python, C and Python again in order" { check_version 3.13; }
@test "CPython 3.14: Python, C and Python again in order" { check_version 3.14; }

@test "CPython 3.12: -X perf's trampolines don't double the frames" { check_version 3.12 -X perf; }
@test "CPython 3.13: -X perf's trampolines don't double the frames" { check_version 3.13 -X perf; }
@test "CPython 3.14: -X perf's trampolines don't double the frames" { check_version 3.14 -X perf; }

# Every sample of $PYTHON has an inner function of the outer one that made it.
own_names() {
    rm -rf s
    "$WPROF" record -q -F 999 -o s -- "${PYTHON[@]}" "$ROOT/tests/fixtures/python/reuse.py" 1 || return 1
    read -r right wrong <<<"$(folded s | awk '
        { k = $NF }
        match($0, /outer_[0-9]+ \(made_[0-9]+/) {
            split(substr($0, RSTART, RLENGTH), o, /_| /); rest = substr($0, RSTART + RLENGTH)
            if (!match(rest, /inner_[0-9]+ \(made_[0-9]+/)) next
            split(substr(rest, RSTART, RLENGTH), i, /_| /)
            if (o[2] == i[2] && o[4] == i[4] && o[2] == o[4]) right += k
            else wrong += k
        }
        END { print right + 0, wrong + 0 }')"
    echo "$right right, $wrong wrong"
    [ "$right" -gt 200 ] && [ "$wrong" = 0 ]
}

@test "functions that come and go at the same addresses keep their own names" {
    for v in 3.8 3.11 3.14; do
        [ "$(find_python $v >/dev/null 2>&1; echo found)" = found ] || continue # skip ends the subshell
        find_python $v
        in_three own_names
        tested=1
    done
    [ -n "${tested:-}" ] || skip "needs CPython 3.8, 3.11 or 3.14"
}

@test "a CPython that is too old is refused by name, and recorded without Python frames" {
    for v in 3.7 3.6; do
        p=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$v".*/bin/python3 2>/dev/null | head -n 1)
        [ -n "$p" ] && break
    done
    [ -n "$p" ] || skip "needs CPython 3.6 or 3.7 (pyenv)"
    run "$WPROF" record -F 499 -o s -- "$p" -c 'sum(i * i for i in range(3000000))'
    [ "$status" -eq 0 ]
    [[ "$output" == *"CPython $v is not a version that wprof reads (3.8 to 3.14)"* ]]
    [ "$(samples s)" -gt 10 ]
}
