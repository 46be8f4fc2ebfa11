/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "base/log.h"
#include "record/marks_line.h"
#include "record/marks_send.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mark_opts {
    const char *session;
    uint64_t pid;
};

static const struct opt options[] = {
    OPT_STRING('s', "session", struct mark_opts, session, "DIR",
               "to the recording that writes DIR (default: the one that runs us, by WPROF_MARKS)"),
    OPT_UINT('p', "pid", struct mark_opts, pid, "PID", NULL, NULL,
             "as a mark of that process (default: the one that calls us)"),
};

static void join(struct buf *out, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        buf_addf(out, "%s%s", i ? " " : "", argv[i]);
}

/* Words that make no step and no pair are a moment's text. -1: they begin as one and are none. */
static int complete(struct buf *line, const char *text)
{
    static const char *const verbs[] = {"step", "begin", "end", "join", "leave", "mark", "lost"};
    struct mark_room room;
    struct mark m = {0};
    pid_t pid = 0;

    if (marks_line(&m, &room, &pid, text, strlen(text)) || pid) {
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
            if (!strcmp(text, verbs[i]))
                return -1;
        buf_addstr(line, "mark ");
    }
    buf_addstr(line, text);
    return 0;
}

/* A program that is not recorded must not fail for its marks; who names a session means to reach it. */
static int judge(const struct mark_opts *o, enum marks_sent sent, const struct err *e)
{
    if (sent == MARKS_SENT)
        return EXIT_OK;
    if (o->session) {
        log_error("%s", e->msg);
        return EXIT_FAILED;
    }
    if (sent == MARKS_NOBODY)
        log_debug("%s", e->msg);
    else
        log_warn("%s", e->msg);
    return EXIT_OK;
}

static int mark_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct mark_opts *o = values;
    const char *path = getenv("WPROF_MARKS");
    struct buf text = {0}, line = {0};
    struct err e = {0};
    int code;

    if (!argc)
        return command_usage(&cmd_mark,
                             "what is to be marked? Give TEXT, or step ID, begin KIND ID, end KIND ID");
    join(&text, argc, argv);
    buf_addf(&line, "@%lld ", o->pid ? (long long)o->pid : (long long)getppid());
    if (complete(&line, buf_str(&text)))
        code = command_usage(&cmd_mark, "%s what? (step ID, begin KIND ID, end KIND ID, mark TEXT)",
                             buf_str(&text));
    else if (line.len > MARK_BYTES)
        code = command_usage(&cmd_mark, "the mark is longer than %d bytes", MARK_BYTES);
    else if (o->session)
        code = judge(o, marks_send_to(o->session, line.data, line.len, &e), &e);
    else if (path && *path)
        code = judge(o, marks_send(path, line.data, line.len, &e), &e);
    else
        code = EXIT_OK;
    buf_release(&text);
    buf_release(&line);
    return code;
}

const struct command cmd_mark = {
    .name = "mark",
    .summary = "mark a step, a request or a moment in the recording that is running",
    .operands = "TEXT...",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct mark_opts),
    .stop_at_operand = 1,
    .examples = "wprof mark step 12\n"
                "wprof mark begin request 7; curl -s localhost; wprof mark end request 7\n"
                "wprof mark --session wprof-train-20260716-153012-abc123 checkpoint written",
    .run = mark_run,
};
