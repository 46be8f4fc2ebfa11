#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torchrun starts wprof in the place of Python (--no-python), once a rank: torchrun.sh WORKERS SCRIPT [ARG...]
# --rdzv-id names the job, and so the folder of the sessions.
set -eu
workers=$1
shift
exec torchrun --standalone --nproc-per-node "$workers" --rdzv-id "${JOB:-train}" --no-python \
    wprof record --quiet -o 'run-%j/%h-r%r' -- python3 "$@"
