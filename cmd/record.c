/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "topo_limits.h"

#include "analyze/jit_advice.h"
#include "base/log.h"
#include "base/units.h"
#include "platform/pfm.h"
#include "platform/spawn.h"
#include "record/collectors.h"
#include "record/elevate.h"
#include "record/recorder.h"
#include "record/signal_name.h"
#include "record/tiers.h"
#include "record_rank.h"
#include "record_repeat.h"
#include "record_seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FREQUENCY = 100000 };

struct record_opts {
    const char *output, *event, *collect, *without, *cgroup, *container, *tier, *start_on, *stop_on, *capture,
        *ring, *limits;
    uint64_t frequency, duration, delay, max_size, min_block;
    uint64_t interval, min_bytes, min_messages, hops;
    int pipe_bytes;
    int jit_names, jvm, whole_graphs;
    int kill, force, keep_going, inlines, source, whole_machine, quiet, verbose, sudo, as_caller;
    uint64_t repeat;
    const char *against, *ranks;
    const char *front; /* the collecting half's: elevate.h */
    struct opt_list pids;
};

static const struct opt options[] = {
    OPT_STRING('o', "output", struct record_opts, output, "DIR",
               "the session's directory (default: wprof-WORKLOAD-TIME-ID here); %r is the rank, %h the host, "
               "%j the job"),
    OPT_UINT('F', "frequency", struct record_opts, frequency, "HZ", "99", "record.frequency",
             "samples per second and CPU"),
    OPT_STRING('e', "event", struct record_opts, event, "EVENT",
               "sample on EVENT (default: cycles, without a PMU cpu-clock); see wprof events"),
    OPT_DURATION(0, "duration", struct record_opts, duration, "TIME", NULL, NULL,
                 "end the recording after TIME; the command runs on"),
    OPT_DURATION(0, "delay", struct record_opts, delay, "TIME", NULL, NULL,
                 "begin recording TIME after the start"),
    OPT_STRING(0, "start-on", struct record_opts, start_on, "SIGNAL",
               "begin recording when wprof gets SIGNAL, such as USR1"),
    OPT_STRING(0, "stop-on", struct record_opts, stop_on, "SIGNAL",
               "end the recording when wprof gets SIGNAL; the command runs on"),
    OPT_STRING(0, "capture", struct record_opts, capture, "KIND:N-M",
               "record from the mark that begins step (request ...) N to the end of M"),
    OPT_STRING(0, "ring", struct record_opts, ring, "TIME",
               "keep only the last TIME until the end, a signal or a crash, however long it runs"),
    OPT_FLAG(0, "kill", struct record_opts, kill,
             "end the command when its recording is over: SIGTERM, after 10 s SIGKILL"),
    OPT_SIZE(0, "max-size", struct record_opts, max_size, "SIZE", "1GiB", "record.max-size",
             "end the recording when events.wlog has this size"),
    OPT_DURATION(0, "min-block", struct record_opts, min_block, "TIME", "100us", "record.min-block",
                 "list waits off the CPU from TIME on, sum shorter ones"),
    OPT_DURATION(0, "interval", struct record_opts, interval, "TIME", "0", NULL,
                 "keep the topology of every TIME too: a line each in topology.ndjson"),
    OPT_UINT(0, "hops", struct record_opts, hops, "N", "3", NULL,
             "the topology reaches so far from what is recorded, in edges; 0: no limit"),
    OPT_LIMITS(struct record_opts, "messages"),
    OPT_FLAG(0, "pipe-bytes", struct record_opts, pipe_bytes,
             "count what goes through pipes and queues; makes every system call of the machine slower"),
    {0, "collect", OPT_TYPE_STRING, offsetof(struct record_opts, collect), "LIST", NULL, "record.collect",
     NULL, "only these collectors, separated by commas"},
    OPT_STRING(0, "without", struct record_opts, without, "LIST", "not these collectors"),
    OPT_STRING(0, "tier", struct record_opts, tier, "A|B|C",
               "record that way: with BPF, with perf events, from outside (default: the best that works)"),
    OPT_LIST('p', "pid", struct record_opts, pids, "PID",
             "a running process and its children; may be given again"),
    OPT_STRING(0, "cgroup", struct record_opts, cgroup, "PATH",
               "the processes of a control group, under /sys/fs/cgroup, and those that enter it"),
    OPT_STRING(0, "container", struct record_opts, container, "ID",
               "the same of a running container, by its id, the beginning of it, or its name"),
    OPT_FLAG('a', "all", struct record_opts, whole_machine, "the whole machine"),
    OPT_FLAG(0, "jit-names", struct record_opts, jit_names,
             "have oneDNN and Node.js write down the names of what they compile"),
    OPT_FLAG(0, "jvm", struct record_opts, jvm,
             "get the names of Java functions, and whole stacks, from JVMs"),
    OPT_FLAG(0, "whole-graphs", struct record_opts, whole_graphs,
             "of CUDA graphs record each run as one, without its nodes: costs the program less"),
    OPT_FLAG(0, "force", struct record_opts, force, "replace DIR where it is a wprof session"),
    OPT_FLAG(0, "keep-going", struct record_opts, keep_going,
             "run the command even if nothing can be recorded"),
    OPT_FLAG(0, "inlines", struct record_opts, inlines, "also name inlined functions and lines, from DWARF"),
    OPT_FLAG(0, "source", struct record_opts, source, "also keep the text of the Python lines that are seen"),
    OPT_UINT(0, "repeat", struct record_opts, repeat, "N", NULL, NULL,
             "record the command N times, into a folder of sessions that wprof diff takes"),
    OPT_STRING(0, "against", struct record_opts, against, "CMD",
               "in turn with CMD, its base: into the folders base and new"),
    OPT_STRING(0, "ranks", struct record_opts, ranks, "LIST",
               "record these ranks alone, such as 0,7-8; others run as without wprof"),
    OPT_FLAG(0, "sudo", struct record_opts, sudo,
             "let sudo run the half that collects; the command stays yours"),
    OPT_STRING(0, "front", struct record_opts, front, "SOCKET", NULL),
    OPT_FLAG(0, "as-caller", struct record_opts, as_caller, NULL),
    OPT_FLAG('q', "quiet", struct record_opts, quiet, "say only errors"),
    OPT_FLAG('v', "verbose", struct record_opts, verbose, "say more"),
};

/* 0, or the exit code after saying what is wrong with the command line. */
static int check(const struct record_opts *o, int argc)
{
    struct pfm_event ev;
    struct err e = {0};
    int ways = (o->front != NULL) + (argc > 0) + (o->pids.n > 0) + (o->whole_machine != 0) +
               (o->cgroup != NULL) + (o->container != NULL);

    if (!ways)
        return command_usage(
            &cmd_record,
            "what is to be recorded? Give a command, -p PID, --cgroup PATH, --container ID or -a");
    if (ways > 1)
        return command_usage(&cmd_record, "a command, -p, --cgroup, --container and -a exclude each other");
    if (!o->frequency || o->frequency > MAX_FREQUENCY)
        return command_usage(&cmd_record, "-F %llu: not between 1 and %d", (unsigned long long)o->frequency,
                             MAX_FREQUENCY);
    if (o->tier && !tiers_parse(o->tier))
        return command_usage(&cmd_record, "--tier %s: not A, B or C", o->tier);
    if (o->keep_going && !argc && !o->front)
        return command_usage(&cmd_record, "--keep-going needs a command");
    if (o->kill && !argc && !o->front)
        return command_usage(&cmd_record, "--kill needs a command: what wprof hasn't started it doesn't end");
    if (o->ranks && !argc)
        return command_usage(&cmd_record, "--ranks needs a command");
    if (o->ranks && record_rank_chosen(o->ranks, &e) < 0)
        return command_usage(&cmd_record, "%s", e.msg);
    if ((o->repeat || o->against) && !argc)
        return command_usage(&cmd_record, "--repeat and --against need a command");
    if (o->sudo && geteuid() && o->kill)
        return command_usage(&cmd_record, "--sudo does not go with --kill: use sudo wprof record");
    if (o->event && pfm_encode(o->event, &ev, &e)) {
        log_error("-e %s", e.msg);
        return SPAWN_FAILED;
    }
    return 0;
}

static int parse_signal(int *signo, const char *option, const char *text, struct err *e)
{
    *signo = text ? signal_parse(text, e) : 0;
    return *signo < 0 ? err_wrap(e, "%s", option) : 0;
}

static int parse_window(struct window_opts *w, const struct record_opts *o, struct err *e)
{
    *w = (struct window_opts){.delay = o->delay, .duration = o->duration};
    if (parse_signal(&w->start_on, "--start-on", o->start_on, e) ||
        parse_signal(&w->stop_on, "--stop-on", o->stop_on, e))
        return -1;
    if (o->capture && window_capture_parse(&w->capture, o->capture, e))
        return err_wrap(e, "--capture");
    return 0;
}

static int parse_ring(uint64_t *ring, const char *text, struct err *e)
{
    if (!text)
        return 0;
    if (units_parse_duration(text, ring, e))
        return err_wrap(e, "--ring");
    return *ring ? 0 : err_set(e, "--ring %s: a ring of no length keeps nothing", text);
}

/* Whether anything ends the recording before the command. -1 with `e`: nothing can. */
static int check_kill(const struct recorder_opts *how, struct err *e)
{
    const struct window_opts *w = &how->window;
    char size[32];

    if (!how->kill || w->duration || w->stop_on || (w->capture.kind[0] && w->capture.last != UINT64_MAX))
        return 0;
    if (how->ring || !how->max_size)
        return err_set(e, "--kill: nothing ends this recording before the command "
                          "(--duration, --stop-on or --capture KIND:N-M does)");
    log_warn("--kill: only the session's size ends this recording, at %s (--max-size)",
             units_size(size, sizeof(size), how->max_size));
    return 0;
}

/* The collecting half records GPUs: then the command is to be told where. */
static int wants_gpu(const struct record_opts *o)
{
    struct collectors s = {0};
    size_t n;
    const struct collector_ops *const *all = collectors_all(&n);
    int wants =
        !collectors_choose(&s, all, n, o->collect && *o->collect ? o->collect : NULL, o->without, NULL) &&
        collectors_wanted(&s, "gpu");

    collectors_release(&s);
    return wants;
}

/* `record --sudo`: these options and no others hold for the half, whatever root's settings are. */
static int elevate(const struct record_opts *given, int argc, char **argv, struct err *e)
{
    struct record_opts o = *given;
    struct opt_args args = {0};
    struct window_opts window;
    struct elevate_opts how = {
        .argv = argv, .dir = o.output, .jit_names = o.jit_names, .jvm = o.jvm, .keep_going = o.keep_going};
    int code = SPAWN_FAILED;

    if (parse_window(&window, &o, e))
        return code;
    how.gpu = wants_gpu(&o);
    how.whole_graphs = o.whole_graphs;
    how.signals[0] = window.start_on;
    how.signals[1] = window.stop_on;
    o.sudo = 0;
    o.as_caller = 1;
    o.quiet |= log_get_level() < LOG_INFO;
    o.verbose |= log_get_level() > LOG_INFO;
    *vec_push(&args.list) = mem_strdup("--config");
    *vec_push(&args.list) = mem_strdup("/dev/null");
    *vec_push(&args.list) = mem_strdup("record");
    opt_spell(options, ARRAY_SIZE(options), &o, &args);
    if (argc)
        *vec_push(&args.list) = mem_strdup("--front");
    how.half = (const char *const *)args.list.a;
    how.nhalf = args.list.n;
    if (argc)
        code = elevate_run(&how, e);
    else
        elevate_exec(&how, e);
    for (size_t i = 0; i < args.list.n; i++)
        free(args.list.a[i]);
    vec_release(&args.list);
    return code;
}

static int record(const struct record_opts *o, int argc, char **argv)
{
    struct topology_opts topology = {.interval = o->interval,
                                     .min_bytes = o->min_bytes,
                                     .min_messages = o->min_messages,
                                     .hops = (unsigned)o->hops,
                                     .pipe_bytes = o->pipe_bytes};
    struct record_seal seal = {
        .inlines = o->inlines,
        .source = o->source,
        .done = (o->jvm ? JIT_ADVICE_JVM : 0) | (o->jit_names ? JIT_ADVICE_NAMES : 0),
    };
    struct recorder_opts how = {
        .dir = o->output,
        .force = o->force,
        .as_caller = o->as_caller,
        .keep_going = o->keep_going,
        .quiet = o->quiet || log_get_level() < LOG_INFO,
        .event = o->event,
        .frequency = o->frequency,
        .kill = o->kill,
        .max_size = o->max_size,
        .min_block = o->min_block,
        .collect = o->collect,
        .without = o->without,
        .tier = o->tier,
        .jit_names = o->jit_names,
        .jvm = o->jvm,
        .whole_graphs = o->whole_graphs,
        .choose_tier = tiers_choose,
        .release_tier = tiers_release,
        .front = o->front,
        .argv = argc ? argv : NULL,
        .pids = o->pids.a,
        .npids = o->pids.n,
        .cgroup = o->cgroup,
        .container = o->container,
        .whole_machine = o->whole_machine,
        .topology = &topology,
        .hooks = {&seal, record_seal_graph, record_seal_derive, record_seal_say},
    };
    struct err e = {0};
    int code;

    limits_fill(o->limits, &topology.min_bytes, &topology.min_messages);
    if (parse_window(&how.window, o, &e) || parse_ring(&how.ring, o->ring, &e) || check_kill(&how, &e))
        return command_usage(&cmd_record, "%s", e.msg);
    how.collectors = collectors_all(&how.ncollectors);
    if (o->sudo && geteuid())
        code = elevate(o, argc, argv, &e);
    else
        code = recorder_run(&how, &e);
    if (e.msg[0])
        log_error("%s", e.msg);
    record_seal_release(&seal);
    return code;
}

/* One of several runs: what is said of each would be too much. */
static int record_one(void *arg, const char *dir, char **argv)
{
    struct record_opts o = *(const struct record_opts *)arg;
    int argc = 0;

    while (argv[argc])
        argc++;
    o.output = dir;
    o.repeat = 0;
    o.against = NULL;
    if (log_get_level() == LOG_INFO)
        log_set_level(LOG_WARN);
    return record(&o, argc, argv);
}

/* A rank that is not to be recorded becomes its command. */
static int exec_command(char **argv)
{
    int why;

    execvp(argv[0], argv);
    why = errno;
    log_error("%s: %s", argv[0], strerror(why));
    return why == ENOENT ? SPAWN_NOT_FOUND : SPAWN_NOT_EXECUTABLE;
}

/* What -o names, by this rank: owned by the caller. NULL, and *code: it names nothing, or its folder cannot
 * be made. */
static char *name_output(const char *pattern, int *code)
{
    struct err e = {0};
    char *dir = record_rank_name(pattern, &e);

    if (!dir) {
        *code = command_usage(&cmd_record, "%s", e.msg);
    } else if (record_rank_parents(dir, &e)) {
        log_error("%s", e.msg);
        *code = SPAWN_FAILED;
        free(dir);
        dir = NULL;
    }
    return dir;
}

static int record_all(struct record_opts *o, int argc, char **argv)
{
    struct record_repeat several = {.times = o->repeat ? o->repeat : 1,
                                    .against = o->against,
                                    .dir = o->output,
                                    .argv = argv,
                                    .record = record_one,
                                    .arg = o};
    struct err e = {0};
    int code;

    if (!o->repeat && !o->against)
        return record(o, argc, argv);
    code = record_repeat(&several, &e);
    if (e.msg[0])
        log_error("%s", e.msg);
    return code;
}

static int run(const void *values, const struct config *cfg, int argc, char **argv)
{
    struct record_opts o = *(const struct record_opts *)values;
    char *dir = NULL;
    int code;

    if (o.quiet || o.verbose)
        log_set_level(o.verbose ? LOG_DEBUG : LOG_ERROR);
    code = check(&o, argc);
    if (!code && o.ranks && !record_rank_chosen(o.ranks, NULL))
        return exec_command(argv);
    if (!code && o.output && strchr(o.output, '%'))
        o.output = dir = name_output(o.output, &code);
    if (!code)
        code = record_all(&o, argc, argv);
    free(dir);
    return code;
}

const struct command cmd_record = {
    .name = "record",
    .summary = "record what a command, a process or the whole machine does",
    .operands = "[-p PID]... | --cgroup PATH | --container ID | -a | [--] CMD...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct record_opts),
    .stop_at_operand = 1,
    .usage_exit = SPAWN_FAILED,
    .examples = "wprof record -- python train.py\n"
                "wprof record -F 999 -o slow --duration 30s -- ./server --port 80\n"
                "wprof record -p 4711 --duration 10s\n"
                "wprof record --sudo -- ./train.sh\n"
                "mpirun -np 4 wprof record -o 'run-%j/%h-r%r' -- ./solver\n"
                "wprof record --repeat 5 -o runs --against './app-1.2' -- ./app-1.3",
    .run = run,
};
