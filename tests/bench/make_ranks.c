/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of a run of many ranks, eight a host: make_ranks DIR RANKS SAMPLES, into DIR/r0 ... Each has
 * so many samples of 16 threads, of some thousand stacks that all ranks have and some hundred of its own,
 * waits, and a barrier after each step. Hosts have clocks of their own, apart by what merge is to find out.
 */
#include "model/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_A_HOST = 8, THREADS = 16, SHARED = 4000, OWN = 300, DEPTH = 20, STEPS = 200, HZ = 99 };

#define STEP_NS 100000000ull

struct making {
    struct store s;
    struct meta m;
    uint32_t stacks[SHARED + OWN], tasks[THREADS];
    uint64_t random, start;
};

static void must(int rc, const struct err *e)
{
    if (!rc)
        return;
    fprintf(stderr, "make_ranks: %s\n", e->msg);
    exit(1);
}

static uint64_t any(struct making *k, uint64_t n)
{
    k->random = k->random * 6364136223846793005u + 1442695040888963407u;
    return (k->random >> 33) % n;
}

/* Native frames of one library that all hosts have, named, each stack a way through them. */
static uint32_t make_stack(struct making *k, uint32_t module, unsigned way)
{
    uint32_t stack = 0;

    for (unsigned depth = 0; depth < DEPTH; depth++) {
        unsigned at = depth < 8 ? depth : depth * 1000 + (way >> (DEPTH - 1 - depth) / 2);
        struct frame f = {.kind = FRAME_NATIVE, .module = module, .addr = 0x1000 + at * 16ull};
        uint32_t id = frames_add(&k->s.frames, &f);
        char name[32];

        if (!frames_get(&k->s.frames, id)->names_n) {
            snprintf(name, sizeof(name), "function_%u", at);
            frames_set_names(&k->s.frames, id,
                             &(struct frame_name){strtab_add(&k->s.strings, name),
                                                  strtab_add(&k->s.strings, "solver.c"), at % 900 + 1},
                             1);
        }
        stack = stacks_push(&k->s.stacks, stack, id);
    }
    return stack;
}

static void make_tables(struct making *k, unsigned rank)
{
    struct module solver = {.kind = MODULE_FILE,
                            .build_id_len = 20,
                            .build_id = "solver",
                            .dev = rank,
                            .ino = rank + 7,
                            .fd = -1};
    uint32_t module;

    solver.path = strtab_add(&k->s.strings, "/opt/solver/libsolver.so");
    module = frames_add_module(&k->s.frames, &solver);
    for (unsigned i = 0; i < SHARED + OWN; i++)
        k->stacks[i] = make_stack(k, module, i < SHARED ? i : 10000 * (rank + 1) + i);
    for (unsigned i = 0; i < THREADS; i++) {
        struct task t = {.pid = 4000, .tid = 4000 + i, .start_ns = 5, .ns_pid = 4000, .ns_tid = 4000 + i};

        t.comm = strtab_add(&k->s.strings, i ? "worker" : "solver");
        t.leader = i ? k->tasks[0] : 0;
        k->tasks[i] = tasks_add(&k->s.tasks, &t);
    }
}

static struct event *put(struct making *k, enum event_kind kind, unsigned thread, uint64_t ts)
{
    struct event *ev = vec_push(&k->s.events);

    *ev = (struct event){.ts = ts, .value = 1, .task = k->tasks[thread], .kind = (uint16_t)kind};
    return ev;
}

static void make_samples(struct making *k, unsigned samples)
{
    uint64_t period = STEP_NS * STEPS / (samples / THREADS + 1);

    for (unsigned i = 0; i < samples; i++) {
        uint64_t place = any(k, 8) ? any(k, SHARED) : SHARED + any(k, OWN);
        struct event *ev = put(k, EVENT_SAMPLE, i % THREADS, k->start + i / THREADS * period + any(k, 20000));

        ev->stack = k->stacks[place];
        ev->flags = EVENT_ROOT | EVENT_USER;
        ev->cpu = (uint16_t)any(k, 64);
    }
}

/* One comes last at each barrier, in turn; all leave it within 50 us. */
static void make_steps(struct making *k, unsigned rank, unsigned ranks)
{
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t begin = k->start + i * STEP_NS, leave = begin + STEP_NS - 1000000 + any(k, 50000);
        uint64_t wait = i % ranks == rank ? 60000 : 5000000 + any(k, 20000000);
        char name[32];
        struct event *ev;

        snprintf(name, sizeof(name), "step %u", i);
        ev = put(k, EVENT_MARKER, 0, begin);
        ev->dur = STEP_NS;
        ev->metric = strtab_add(&k->s.strings, name);
        snprintf(name, sizeof(name), "barrier %u", i);
        ev = put(k, EVENT_MARKER, 0, leave - wait);
        ev->dur = wait;
        ev->metric = strtab_add(&k->s.strings, name);
        ev = put(k, EVENT_OFFCPU, 0, leave - wait);
        ev->dur = wait;
        ev->stack = k->stacks[i % 7];
    }
}

static void make_rank(const char *dir, unsigned rank, unsigned ranks, unsigned samples)
{
    struct making k = {.random = rank + 1};
    unsigned host = rank / OF_A_HOST;
    char *path = mem_printf("%s/r%u", dir, rank);
    struct session_create how = {.dir = path, .force = 1, .uid = (uid_t)-1, .gid = (gid_t)-1};
    struct session_writer *w;
    struct err e = {0};

    k.m = (struct meta){.schema_version = 1, .kind = mem_strdup("fused"), .pid = 4000, .frequency = HZ};
    k.m.session_id = mem_printf("20260102-%06u-bench1", rank);
    k.m.workload = mem_strdup("solver");
    k.m.tier = mem_strdup("A");
    k.m.host = mem_printf("node%u", host);
    k.m.clock_id = mem_printf("boot-%u", host);
    *vec_push(&k.m.env) = mem_printf("RANK=%u", rank);
    /* The clocks of the hosts are hours apart. */
    k.start = k.m.start_mono = 1000000000000ull + host * 3600123456789ull;
    k.m.end_mono = k.start + STEPS * STEP_NS;
    k.m.realtime_offset = 1700000000000000000ull - host * 3600123456789ull;
    k.m.start_ts = 1700001000;
    k.m.duration_s = STEPS * STEP_NS / 1e9;
    make_tables(&k, rank);
    make_samples(&k, samples);
    make_steps(&k, rank, ranks);
    store_set_counter(&k.s, "cpu.taken", samples);
    w = session_create(&how, &k.s, &k.m, &e);
    must(!w || session_seal(w, &k.m, &e) ? -1 : 0, &e);
    session_writer_free(w);
    store_release(&k.s);
    meta_release(&k.m);
    free(path);
}

int main(int argc, char **argv)
{
    unsigned ranks = argc == 4 ? (unsigned)atoi(argv[2]) : 0;

    if (!ranks)
        return 2;
    for (unsigned r = 0; r < ranks; r++)
        make_rank(argv[1], r, ranks, (unsigned)atoi(argv[3]));
    return 0;
}
