#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torchrun starts wprof in the place of Python (--no_python), once a rank: torchrun.sh WORKERS SCRIPT [ARG...]
# --rdzv_id names the job, and so the folder of the sessions (--standalone would make up a name of its own). On
# several nodes the endpoint is the first one's, HOST:PORT, with --nnodes.
set -eu
workers=$1
shift
exec torchrun --rdzv_backend c10d --rdzv_endpoint localhost:0 --rdzv_id "${JOB:-train}" \
    --nproc_per_node "$workers" --no_python \
    wprof record --quiet -o 'run-%j/%h-r%r' -- python3 "$@"
