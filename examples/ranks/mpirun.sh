#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every rank of an MPI program is recorded into a session of its own: mpirun.sh RANKS PROGRAM [ARG...]
# Sessions are run-JOB/HOST-rRANK below the current directory, which all hosts must share (or collect them afterwards).
# To record few of many ranks, add e.g. --ranks 0,7-8: the others run as without wprof.
set -eu
ranks=$1
shift
exec mpirun -np "$ranks" wprof record --quiet -o 'run-%j/%h-r%r' -- "$@"
