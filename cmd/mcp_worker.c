/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_worker.h"

#include "base/io.h"
#include "base/log.h"
#include "exchange/mcp/fit.h"
#include "model/session_dir.h"
#include "platform/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Its exit codes: what it wrote is a result, or says what went wrong. */
enum { WORKER_RESULT = 0, WORKER_ERROR = 3, READ_BYTES = 65536 };

/* ---- in the worker ---- */

/* Nothing but the protocol goes to the server's stdout, and nothing of it is read. */
static void leave_protocol(void)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

/* The result, in few enough bytes for the server to take. */
static int fit(const struct buf *made, struct buf *out, struct err *e)
{
    struct json_doc *doc = json_parse(buf_str(made), made->len, e);
    int rc = doc ? mcp_fit(json_root(doc), MCP_RESULT_MAX, out, e) : -1;

    json_free(doc);
    return rc;
}

static int run(const struct mcp_working *how, const struct mcp_call *call, struct buf *out)
{
    struct mcp_job job = {.roots = how->roots, .tool = call->tool, .timeout = how->timeout};
    struct buf made = {0};
    struct err e = {0};
    struct json_doc *args = json_parse(call->args, call->args_len, &e);
    int rc = -1;

    if (args) {
        job.args = json_root(args);
        rc = mcp_tools_run(&job, &made, &e);
    }
    if (!rc)
        rc = fit(&made, out, &e);
    if (rc) {
        buf_clear(out);
        buf_addstr(out, e.msg);
    }
    buf_release(&made);
    json_free(args);
    return rc ? WORKER_ERROR : WORKER_RESULT;
}

__attribute__((noreturn)) static void work(const struct mcp_working *how, const struct mcp_call *call,
                                           const char *room, int to, pid_t server)
{
    struct rlimit no_core = {0, 0};
    struct buf out = {0};
    struct err e;
    int code;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(WORKER_ERROR);
    sigprocmask(SIG_SETMASK, &how->signals->before.mask, NULL);
    setrlimit(RLIMIT_CORE, &no_core);
    leave_protocol();
    if (room)
        setenv("TMPDIR", room, 1);
    code = run(how, call, &out);
    io_write_all(to, buf_str(&out), out.len, &e);
    _exit(code); /* what libraries registered at exit is not ours to run */
}

/* ---- in the server ---- */

static char *make_room(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = mem_printf("%s/wprof-mcp-XXXXXX", tmp && *tmp ? tmp : "/var/tmp");

    if (mkdtemp(dir))
        return dir;
    log_debug("no directory for temporary files: %s: %s", dir, strerror(errno));
    free(dir);
    return NULL;
}

static void forget(struct mcp_worker *x)
{
    if (x->room)
        session_dir_remove(x->room);
    free(x->room);
    if (x->fd >= 0)
        close(x->fd);
    x->room = NULL;
    x->pid = 0;
    x->fd = -1;
}

void mcp_worker_end_by(struct mcp_worker *x, uint64_t until)
{
    if (x->deadline <= until)
        return;
    x->deadline = until;
    x->late = MCP_AFTER_END;
}

int mcp_worker_start(struct mcp_worker *x, const struct mcp_working *how, const struct mcp_call *call,
                     uint64_t number, struct err *e)
{
    pid_t server = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return err_sys(e, errno, "pipe");
    buf_release(&x->out);
    x->room = make_room();
    x->fd = ends[0];
    x->number = number;
    x->deadline = how->timeout ? clock_monotonic() + how->timeout : UINT64_MAX;
    x->late = "the call took too long and was ended: ask for less (one session, fewer rows), or start "
              "wprof mcp with a longer --timeout";
    mcp_worker_end_by(x, how->until);
    x->pid = fork();
    if (!x->pid)
        work(how, call, x->room, ends[1], server);
    close(ends[1]);
    if (x->pid > 0)
        return 0;
    err_sys(e, errno, "fork");
    forget(x);
    return -1;
}

static void say(struct mcp_worker *x, struct mcp_result *r, const char *text)
{
    buf_clear(&x->out);
    buf_addstr(&x->out, text);
    *r = (struct mcp_result){1, x->out.data, x->out.len};
}

static void end(struct mcp_worker *x, int killed, struct mcp_result *r)
{
    int status = 0;

    if (killed)
        kill(x->pid, SIGKILL);
    while (waitpid(x->pid, &status, 0) < 0 && errno == EINTR)
        ;
    forget(x);
    *r = (struct mcp_result){WIFEXITED(status) && WEXITSTATUS(status) != WORKER_RESULT, buf_str(&x->out),
                             x->out.len};
    if (!WIFEXITED(status) || (WEXITSTATUS(status) && !x->out.len))
        say(x, r,
            "the call broke off: it ran out of memory, or the session is damaged in a way that this wprof "
            "cannot take (wprof verify tells whether it is damaged)");
}

int mcp_worker_read(struct mcp_worker *x, struct mcp_result *r)
{
    ssize_t n;

    if (clock_monotonic() >= x->deadline) {
        end(x, 1, r);
        say(x, r, x->late);
        return 1;
    }
    buf_reserve(&x->out, READ_BYTES);
    n = read(x->fd, x->out.data + x->out.len, READ_BYTES - 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n > 0)
        x->out.len += (size_t)n;
    x->out.data[x->out.len] = '\0';
    if (n > 0 && x->out.len <= MCP_RESULT_MAX)
        return 0;
    end(x, n > 0, r);
    return 1;
}

void mcp_worker_stop(struct mcp_worker *x)
{
    struct mcp_result r;

    if (x->pid > 0)
        end(x, 1, &r);
    buf_release(&x->out);
}
