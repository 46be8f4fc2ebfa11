#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who talks to whom on this machine, or around one process: a picture, a file for diagrams.net, one for Gephi.
#   examples/topology.sh [PID] [FOLDER]
set -eu
: "${WPROF:=wprof}"
around=${1:+--pid $1}
out=${2:-.}

# shellcheck disable=SC2086
"$WPROF" topo $around --duration 5s --format json -o "$out/topology.json"
"$WPROF" import "$out/topology.json" -o "$out/topology"
"$WPROF" render --view topology --format svg -o "$out/topology.svg" "$out/topology"
"$WPROF" render --view topology --format drawio -o "$out/topology.drawio" "$out/topology"
"$WPROF" render --view topology --format gexf --layout gephi -o "$out/topology.gexf" "$out/topology"
"$WPROF" render --view topology --format mermaid -o - "$out/topology" # into a ticket, between ```mermaid and ```
