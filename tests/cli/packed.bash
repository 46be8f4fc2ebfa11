# SPDX-License-Identifier: Apache-2.0
# For tests of packed and of damaged sessions: a session, imported.

imported_session() {
    need_command python3
    cd "$BATS_TEST_TMPDIR"
    printf 'main;work;inner 70\nmain;work 20\nmain;idle 10\n' >in.folded
    "$WPROF" -q import -o s in.folded >/dev/null
    export TMPDIR=$PWD/tmp
    mkdir tmp
}
