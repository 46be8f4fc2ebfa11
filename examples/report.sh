#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules of one's own, and another threshold: settings for a team, kept beside its code.
#   examples/report.sh [SESSION]
set -eu
: "${WPROF:=wprof}"
settings=$(mktemp)
trap 'rm -f "$settings"' EXIT

cat >"$settings" <<'END'
[rules]
loader-wait.share = 2%
own.json = [(]json/.*[.]py[)] > 5% : parse each message once, and keep the result
own.regex = [(]re/_compiler[.]py[)] > 1% : compile patterns when the program starts
own.logging = [(]logging/__init__[.]py[)] > 3% : log less in the loop
END

"$WPROF" --config "$settings" report "$@"
