#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every command brings: its file, page, tests, example; page and -h name the same options.
. "$(dirname "$0")/lib.bash"

commands=$(sed -n 's/^COMMAND(\(.*\))$/\1/p' cmd/commands.def)

for c in $commands; do
    [ -e "cmd/$c.c" ] || echo "$c: no cmd/$c.c"
    [ -e "man/wprof-$c.1.md" ] || echo "$c: no man/wprof-$c.1.md"
    [ -e "tests/cli/$c.bats" ] || echo "$c: no tests/cli/$c.bats"
    "$WPROF" "$c" -h | grep -q '^Examples:' || echo "$c: no example in its help"
    grep -q '^# EXAMPLES' "man/wprof-$c.1.md" 2>/dev/null || echo "$c: no example in its page"
    "$WPROF" complete -- "$c" -- 2>/dev/null | grep -q . || "$WPROF" complete -- "$c" --h | grep -q . || echo "$c: no completion"
done | check "a page, tests and an example each"

# The options as -h shows them: "-o --output DIR", sorted. And as the page lists them: a bullet under OPTIONS.
of_help() {
    sed -n '/^Options/,/^$/p' | sed -nE 's/^  (-(.), |    )--([a-z0-9-]+)( ([^ ]+))?.*/\2|\3|\5/p' | sort
}
of_page() {
    sed 's/\\\(.\)/\1/g' "$1" | sed -n '/^# OPTIONS/,/^# [^O]/p' |
        sed -nE 's/^- (\*\*-(.)\*\*, )?\*\*--([a-z0-9-]+)\*\*( \*([^*]+)\*)?:.*/\2|\3|\5/p' | sort
}

for c in $commands; do
    [ -e "man/wprof-$c.1.md" ] || continue
    diff <("$WPROF" "$c" -h | of_help | sed 's/|$/|/') <(of_page "man/wprof-$c.1.md") |
        sed -n "s/^</$c: only in -h:/p; s/^>/$c: only in the page:/p"
done | check "pages and -h name the same options"
diff <("$WPROF" -h | sed -n 's/^Options before.*/Options/; p' | of_help) <(of_page man/wprof.1.md) | grep '^[<>]' |
    check "wprof(1) and wprof -h name the same options"

helps=$(for c in $commands; do "$WPROF" "$c" -h; done | tr -s '\n ' '  ') # lines are wrapped
"$WPROF" config --list | awk '{ print $1 }' | while read -r key; do
    grep -qF "setting $key" <<<"$helps" || echo "$key is the default of no option"
done | check "every setting gives some option's default"

# The default that -h shows must be the table's.
grep -oE '\(default: [^ ]+, setting [^ )]+\)' <<<"$helps" | sed -E 's/\(default: ([^ ]+), setting ([^ )]+)\)/\1 \2/' |
    while read -r value key; do
        [ "$(env -i "$WPROF" --config /dev/null config "$key")" = "$value" ] || echo "$key: -h says $value"
    done | check "defaults of options and settings agree"

for c in $commands; do
    grep -q "wprof-$c" man/wprof.1.md || echo "wprof(1) does not mention wprof-$c(1)"
    grep -qE "^\|.*\`$c\`" README.md || echo "README.md does not list $c"
done | check "wprof(1) and README.md name every command"

# A line of an example that begins with a dot would be a macro, and lost.
grep -nE '^\.[^A-Za-z\"]' "$BUILD"/man/* 2>/dev/null | check "the pages lose no line"

# Each library that is linked is in the README's table, with why.
for lib in $(sed -n 's/^LDLIBS *:= *//p' Makefile | grep -o -- '-l[a-z0-9]*'); do
    case $lib in
    -lm | -ldl | -lpthread | -lrt) ;;
    *) grep -qE "^\|.*\blib?${lib#-l}|^\|.*${lib#-l}" README.md || echo "README.md does not say why $lib" ;;
    esac
done | check "README.md has every library"
finish
