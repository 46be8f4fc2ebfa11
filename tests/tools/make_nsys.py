#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small database as `nsys export --type sqlite` writes it: make_nsys.py FILE [--rank N | --mpi-rank N | --mpi-ranks N,M | --untimed]
[--later NS]

--rank: the environment that nsys ran in tells it. --untimed: when it was recorded is not told. --mpi-ranks: of its two processes, which
mpirun started under one nsys. Two processes whose correlation ids are the same; kernels with known times under NVTX ranges; rows that make no sense.
"""
import argparse
import sqlite3

STRINGS = {1: "gemm(float*)", 2: "cudaLaunchKernel_v7000", 3: "cudaMemcpyAsync_v3020", 4: "cuLaunchKernel", 5: "forward",
           6: "step", 7: "worker",
           8: "pthread_cond_wait"}


def thread(pid, tid):
    return 0x1 << 56 | pid << 24 | tid


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--rank", type=int)
    p.add_argument("--mpi-rank", type=int)
    p.add_argument("--mpi-ranks")
    p.add_argument("--untimed", action="store_true")
    p.add_argument("--later", type=int, default=0)
    return p.parse_args()


def tell_rank(db, a):
    if a.rank is not None:
        db.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, value TEXT)")
        db.executemany("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'x', ?, ?)",
                       [("Hostname", f"node{a.rank // 2}"),
                        ("DeviceEnvironment", f"PATH=/bin\nMY_RANK=17\nRANK={a.rank}\nWORLD_SIZE=8\n")])
    if a.mpi_rank is not None:
        db.execute("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)")
        db.executemany("INSERT INTO MPI_RANKS VALUES (?, ?)", [(thread(100, 101), a.mpi_rank)])
    if a.mpi_ranks is not None:
        db.execute("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)")
        db.executemany("INSERT INTO MPI_RANKS VALUES (?, ?)", zip((thread(100, 101), thread(200, 200)), a.mpi_ranks.split(",")))


def main():
    a = arguments()
    db = sqlite3.connect(a.file)
    db.executescript("""
        PRAGMA page_size = 512;
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
            registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
            blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
            srcKind INTEGER, dstKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
            globalTid INTEGER);
        CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
        CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER);
        CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
            contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER,
            correlationId INTEGER);
        CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
        CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
    """)
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", STRINGS.items())
    kernel = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,1,1,32,64,2,1,128,1,1,1024,512,NULL)"
    db.executemany(kernel, [(2000, 5000, 9, thread(100, 0)), (6000, 6500, 9, thread(200, 0)),
                            (9000, 8000, 10, thread(100, 0)), (None, 8000, 10, thread(100, 0))])
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (7000, 7400, 1, 1, 8, 11, ?, 4096, 1, 1, 2)",
               (thread(100, 0),))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?)",
                   [(1000, 1100, 0, thread(100, 101), 9, 2, 0), (1000, 1100, 1, thread(200, 200), 9, 4, 0),
                    (6900, 6950, 0, thread(100, 101), 11, 3, 2), (1, 2, 0, 0, 3, 2, 0)])
    db.executemany("INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?)",
                   [(900, 1500, 59, None, 5, thread(100, 101)), (500, 8000, 60, "step 3", None, thread(100, 101)),
                    (800, 1600, 59, "iteration 1", None, thread(100, 101)),
                    (1700, 6960, 59, "iteration_2", None, thread(100, 101)), (3000, None, 34, None, 6, thread(100, 101)), (0, None, 75, "domain", None, None)])
    db.executemany("INSERT INTO OSRT_API VALUES (?,?,?,?)", [(5100, 5900, thread(100, 101), 8), (3, 4, 0, 8)])
    db.executemany("INSERT INTO SCHED_EVENTS VALUES (?,?)", [(1, 2), (3, 4)])
    db.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?,?,1,1,?,?,?,?,?)",
                   [(1050, thread(100, 0), 4096, 1000, 2, 0, 9), (1060, thread(100, 0), 8192, 500, 2, 0, 0),
                    (6000, thread(100, 0), 4096, 1000, 2, 1, 0), (1050, thread(200, 0), 4096, 70, 1, 0, 9),
                    (6100, thread(100, 0), 4096, 1, 2, 5, 0)])
    db.execute("INSERT INTO ThreadNames VALUES (7, 0, ?)", (thread(100, 101),))
    db.executemany("INSERT INTO PROCESSES VALUES (?,?,?)", [(thread(100, 0), 100, "/usr/bin/python3"),
                                                            (thread(200, 0), 200, "server")])
    if not a.untimed:
        db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (1700000000000000000 + a.later,))
    tell_rank(db, a)
    db.commit()


main()
