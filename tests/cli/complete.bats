#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

words() {
    "$WPROF" complete -- "$@" | cut -f1
}

@test "complete: commands, options, choices, settings, events" {
    words ver | grep -qx version
    words "" | grep -qx config
    words --con | grep -qx -- --config
    words config --l | grep -qx -- --list
    words config record.f | grep -qx record.frequency
    words help ver | grep -qx version
    words events cpu-cl | grep -qx cpu-clock
    [ "$(words --config "")" = :files ]
    [ -z "$(words nosuchcommand "")" ]
}

@test "complete: every option of every command is offered" {
    for c in $("$WPROF" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        "$WPROF" "$c" -h | sed -n '/^Options/,/^$/s/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p' | sort >want
        words "$c" --  | sort >got
        diff want got
    done
}

@test "complete: words are needed" {
    run -2 "$WPROF" complete
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p bin
    ln -sf "$WPROF" bin/wprof
    PATH=$PWD/bin:$PATH
}

# in_bash LINE: what bash offers at the end of LINE.
in_bash() {
    bash --norc -c '
        source "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        _wprof 2>/dev/null
        printf "%s\n" "${COMPREPLY[@]}"' _ "$ROOT/completions/wprof.bash" "$1"
}

@test "bash: commands, options, what stands behind =, files" {
    in_bash "wprof ver" | grep -qx version
    in_bash "wprof config --" | grep -qx -- --list
    touch some.conf
    in_bash "wprof --config some" | grep -qx some.conf
}

@test "fish: commands and options" {
    need_command fish
    run -0 fish --no-config -c "source '$ROOT/completions/wprof.fish'; complete -C 'wprof ver'; complete -C 'wprof config --l'"
    [[ $output == *version* ]]
    [[ $output == *--list* ]]
}

@test "zsh: the script is sound and offers commands" {
    need_command zsh
    zsh -n "$ROOT/completions/_wprof"
    run -0 zsh -f -c '
        _describe() { print -l -- ${(P)4} }
        words=(wprof ver) CURRENT=2
        source "$1" 2>/dev/null
        ' _ "$ROOT/completions/_wprof"
    [[ $output == *"version:"* ]]
}
