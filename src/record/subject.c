/* SPDX-License-Identifier: Apache-2.0 */
#include "record/subject.h"

#include "record/about.h"
#include "record/gpu_env.h"
#include "record/recorder.h"
#include "record/recording.h"

#define LOOK_EVERY 1000000000ull /* ns, at a control group */

void subject_init(struct subject *s)
{
    *s = (struct subject){.half = {.fd = -1}};
    s->command.spawn.gate = s->command.spawn.report = -1;
}

void subject_release(struct subject *s)
{
    spawn_cancel(&s->command.spawn);
    targets_release(&s->targets);
    cgroup_watch_release(&s->group);
    half_release(&s->half);
    identity_release(&s->who);
    jit_env_release(&s->jit_env);
}

static int prepare_command(struct subject *s, const struct recorder_opts *o,
                           const struct spawn_signals *before, struct recording *rec, struct err *e)
{
    struct spawn_how how = {.argv = o->argv, .who = &s->who, .signals = before};
    char **env = spawn_env(&s->who);

    about_fill(&rec->meta, o->argv, env, NULL, s->who.user);
    jit_env_fill(&s->jit_env, env, o->jit_names, o->jvm);
    recording_name(rec);
    how.marks = recording_prepare_marks(rec);
    if (collectors_wanted(&rec->collectors, "gpu"))
        rec->ctx.gpu_env = gpu_env_fill(&s->jit_env, env, how.marks, o->whole_graphs);
    how.more = s->jit_env.list.a;
    spawn_free_env(env);
    if (spawn_behind_gate(&s->command.spawn, &how, e))
        return -1;
    s->command.launched = 1;
    recording_target(rec, s->command.spawn.pid);
    return 0;
}

/* The same of a command that the front end starts. */
static int prepare_half(struct subject *s, const struct recorder_opts *o, struct recording *rec,
                        struct err *e)
{
    char **env;

    if (half_meet(&s->half, o->front, &s->who, e))
        return -1;
    env = targets_env(s->half.front);
    about_fill(&rec->meta, s->half.argv, env, NULL, s->who.user);
    targets_free_argv(env);
    recording_name(rec);
    if (half_command(&s->half, recording_prepare_marks(rec), e))
        return -1;
    s->command.launched = 1;
    rec->ctx.front = s->half.front;
    recording_target(rec, s->half.command);
    return 0;
}

/* The first target stands for all. */
static void about_first(const struct subject *s, struct recording *rec, const char *workload)
{
    pid_t pid = rec->ctx.targets.a[0];
    char **argv = targets_argv(pid), **env = targets_env(pid);

    about_fill(&rec->meta, argv, env, workload, s->who.user);
    targets_free_argv(argv);
    targets_free_argv(env);
}

static int prepare_pids(struct subject *s, const struct recorder_opts *o, struct recording *rec,
                        struct err *e)
{
    if (targets_take(&s->targets, o->pids, o->npids, e))
        return -1;
    for (size_t i = 0; i < s->targets.list.n; i++)
        recording_target(rec, s->targets.list.a[i].pid);
    about_first(s, rec, NULL);
    return 0;
}

static int prepare_group(struct subject *s, const struct recorder_opts *o, struct recording *rec,
                         struct err *e)
{
    const struct cgroup_procs *g = &s->group.group;
    struct pid_list in = {0};
    int rc = cgroup_watch_begin(&s->group, o->cgroup, o->container, &in, e);

    for (size_t i = 0; !rc && i < in.list.n; i++)
        recording_target(rec, in.list.a[i]);
    if (!rc) {
        about_first(s, rec, g->name);
        about_note(&rec->meta, "recorded: the %s %s%s%s%s", o->cgroup ? "control group" : "container",
                   o->cgroup ? g->dir : g->name, g->path ? " (" : "", g->path ? g->path : "",
                   g->path ? ")" : "");
    }
    vec_release(&in.list);
    return rc;
}

int subject_prepare(struct subject *s, const struct recorder_opts *o, const struct spawn_signals *before,
                    struct recording *rec, struct err *e)
{
    static char *const none[] = {NULL};
    int rc = 0;

    if (o->front)
        return prepare_half(s, o, rec, e);
    if (o->argv)
        return prepare_command(s, o, before, rec, e);
    if (o->npids)
        rc = prepare_pids(s, o, rec, e);
    else if (o->cgroup || o->container)
        rc = prepare_group(s, o, rec, e);
    else
        about_fill(&rec->meta, none, none, "machine", s->who.user);
    if (!rc)
        recording_name(rec);
    return rc;
}

int subject_look(struct subject *s, struct recording *rec, uint64_t now)
{
    struct pid_list in = {0};
    size_t there;

    if (now < subject_next_look(s))
        return 1;
    s->look_at = now + LOOK_EVERY;
    there = cgroup_watch_look(&s->group, &in);
    for (size_t i = 0; i < in.list.n; i++)
        recording_target(rec, in.list.a[i]);
    vec_release(&in.list);
    return there > 0;
}

uint64_t subject_next_look(const struct subject *s)
{
    return s->group.on ? s->look_at : UINT64_MAX;
}
