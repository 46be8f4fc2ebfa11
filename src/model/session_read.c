/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "model/session.h"
#include "model/session_dir.h"
#include "model/store_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMED = 5 }; /* sessions named in a refusal */

static int refuse_folder(int dirfd, const char *path, struct err *e)
{
    struct buf names = {0}, text = {0};
    size_t n = session_dir_list(dirfd, &names), at = 0;

    if (!n) {
        buf_release(&names);
        return err_set(
            e, "%s is no session: it has no %s (a session is the directory that `wprof record` makes)", path,
            SESSION_META);
    }
    for (size_t i = 0; i < n && i < NAMED; i++) {
        buf_addf(&text, "%s%s", i ? ", " : "", names.data + at);
        at += strlen(names.data + at) + 1;
    }
    err_set(e, "%s is a folder of %zu session%s, not one: name one of %s%s", path, n, n == 1 ? "" : "s",
            buf_str(&text), n > NAMED ? ", ..." : "");
    buf_release(&names);
    buf_release(&text);
    return -1;
}

static int open_dir(const char *path, struct err *e)
{
    struct stat st;
    int fd;

    if (stat(path, &st))
        return err_sys(e, errno, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(
            e,
            "%s is a file: a session is a directory, or an archive that `wprof pack` made (stacks made "
            "elsewhere: wprof import)",
            path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, errno, "%s", path) : fd;
}

/* The directory itself when it is a session, else the newest one in it. Owned by the caller; NULL: none. */
static char *find_newest(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct buf names = {0};
    char *path = NULL;

    if (fd < 0)
        return NULL;
    if (session_dir_holds(fd, NULL))
        path = mem_strdup(".");
    else if (session_dir_list(fd, &names))
        path = mem_strdup(names.data);
    buf_release(&names);
    close(fd);
    return path;
}

static int load_meta(struct session *s, int dirfd, struct err *e)
{
    struct buf text = {0};
    struct stat st;
    int rc;

    if (fstatat(dirfd, SESSION_META, &st, 0))
        return errno == ENOENT ? refuse_folder(dirfd, s->path, e)
                               : err_sys(e, errno, "%s/%s", s->path, SESSION_META);
    if (!S_ISREG(st.st_mode))
        return err_set(e, "%s/%s is no regular file", s->path, SESSION_META);
    if (st.st_size > SESSION_META_MAX)
        return err_set(e, "%s/%s has %lld bytes: no session's is over %d MiB, so it is not one or is damaged",
                       s->path, SESSION_META, (long long)st.st_size, SESSION_META_MAX >> 20);
    rc = io_read_file(dirfd, SESSION_META, &text, e);
    if (!rc && meta_parse(&s->meta, buf_str(&text), text.len, e))
        rc = err_wrap(e, "%s", SESSION_META);
    buf_release(&text);
    return rc ? err_wrap(e, "%s", s->path) : 0;
}

static void set_state(struct meta *m, const char *state)
{
    free(m->state);
    m->state = mem_strdup(state);
}

/* A recording without an end lasted at least to its last event. */
static void set_end(struct meta *m, const struct store *s)
{
    uint64_t last = 0;

    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.a[i].ts + s->events.a[i].dur > last)
            last = s->events.a[i].ts + s->events.a[i].dur;
    if (!m->start_mono || last <= m->start_mono)
        return;
    m->end_mono = last;
    m->duration_s = (double)(last - m->start_mono) / 1e9;
    m->end_ts = m->start_ts + m->duration_s;
}

void session_took(struct session *s)
{
    if (!s->as_written) {
        store_events_sort(s->store.events.a, s->store.events.n, 1);
        event_kinds_release(&s->store.kinds);
        event_kinds_init(&s->store.kinds, s->store.events.a, s->store.events.n);
    }
    set_end(&s->meta, &s->store);
}

static uint64_t samples(const struct store *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.a[i].kind == EVENT_SAMPLE)
            n += s->events.a[i].value ? s->events.a[i].value : 1;
    return n;
}

/* The size that meta.json gives the log; 0: it gives none. */
static uint64_t log_size(const struct meta *m)
{
    for (size_t i = 0; i < m->artifacts.n; i++)
        if (m->artifacts.a[i].path && !strcmp(m->artifacts.a[i].path, SESSION_LOG))
            return m->artifacts.a[i].size;
    return 0;
}

/* What was sealed is there whole: its own id, the end block, the size that it had. */
static int check_sealed(struct session *s, const struct store_load *load, uint64_t size, struct err *e)
{
    struct meta *m = &s->meta;
    uint64_t expected = log_size(m);

    if (load->ended && (!expected || expected == size))
        return 0;
    if (!load->ended && !s->store.events.n)
        return err_set(e,
                       "a sealed session of %llu bytes of " SESSION_LOG
                       " is expected, but nothing can be read from the %llu that are there%s%s",
                       (unsigned long long)expected, (unsigned long long)size, load->why.msg[0] ? ": " : "",
                       load->why.msg);
    if (load->ended)
        m->damage = mem_printf(
            "sealed, but " SESSION_LOG
            " was changed since: it has %llu bytes and not %llu; its %llu samples are shown",
            (unsigned long long)size, (unsigned long long)expected, (unsigned long long)samples(&s->store));
    else
        m->damage =
            mem_printf("sealed, but " SESSION_LOG
                       " is damaged after %llu of %llu bytes%s%s%s: the first %llu samples are shown",
                       (unsigned long long)load->good_bytes, (unsigned long long)(expected ? expected : size),
                       load->why.msg[0] ? " (" : "", load->why.msg, load->why.msg[0] ? ")" : "",
                       (unsigned long long)samples(&s->store));
    return 0;
}

static int check_log(struct session *s, const struct store_load *load, uint64_t size, struct err *e)
{
    const struct meta *m = &s->meta;

    if (load->id[0] && m->session_id && strncmp(load->id, m->session_id, STORE_LOG_ID))
        return err_set(e,
                       "the log of session %s, but " SESSION_META " is of %s: the two don't belong together",
                       load->id, m->session_id);
    return m->state && !strcmp(m->state, "sealed") ? check_sealed(s, load, size, e) : 0;
}

static int open_log(const struct session *s, int dirfd, struct err *e)
{
    int fd = openat(dirfd, SESSION_LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return err_set(
            e, "%s has no %s: a session of another tool (wprof import takes AIProf's), or an incomplete copy",
            s->path, SESSION_LOG);
    return fd < 0 ? err_sys(e, errno, "%s/%s", s->path, SESSION_LOG) : fd;
}

/* What reading the log's `size` bytes gave. */
static void take_state(struct session *s, const struct store_load *load, uint64_t size, int live)
{
    s->sealed = load->ended;
    s->skipped_blocks = load->skipped_blocks;
    /* What a live recorder is writing right now is no damage. */
    s->bad_bytes = !live && size > load->good_bytes ? size - load->good_bytes : 0;
    set_state(&s->meta, s->meta.damage ? "damaged" : s->sealed ? "sealed" : live ? "recording" : "unsealed");
    if (!s->meta.end_mono)
        set_end(&s->meta, &s->store);
}

static int load_log(struct session *s, int dirfd, struct store_load *salvage, struct err *e)
{
    struct store_load own, *load = salvage ? salvage : &own;
    int fd = open_log(s, dirfd, e), live, rc;
    struct stat st;

    if (fd < 0)
        return -1;
    live = session_log_locked(fd);
    if (fstat(fd, &st))
        rc = err_sys(e, errno, "stat");
    else if (salvage)
        rc = store_log_salvage(&s->store, fd, load, e);
    else if (s->as_written)
        rc = store_log_load_as_written(&s->store, fd, load, e);
    else
        rc = store_log_load(&s->store, fd, NULL, 0, load, e);
    close(fd);
    if (rc || (!salvage && check_log(s, load, (uint64_t)st.st_size, e)))
        return err_wrap(e, "%s/%s", s->path, SESSION_LOG);
    take_state(s, load, (uint64_t)st.st_size, live);
    if (!s->sealed && !live)
        s->agent_bytes = session_dir_agents(dirfd);
    return 0;
}

int session_open_meta(struct session *s, const char *path, struct err *e)
{
    int dirfd, rc;

    *s = (struct session){0};
    s->path = path ? mem_strdup(path) : find_newest();
    if (!s->path)
        return err_set(e,
                       "no session in the current directory (name one, or record one: wprof record -- CMD)");
    dirfd = open_dir(s->path, e);
    rc = dirfd < 0 ? -1 : load_meta(s, dirfd, e);
    if (dirfd >= 0)
        close(dirfd);
    if (rc)
        session_release(s);
    return rc;
}

static int load(struct session *s, struct store_load *salvage, struct err *e)
{
    int dirfd = open_dir(session_files(s), e), rc = dirfd < 0 ? -1 : load_log(s, dirfd, salvage, e);

    if (dirfd >= 0)
        close(dirfd);
    return rc;
}

int session_load(struct session *s, struct err *e)
{
    int rc = load(s, NULL, e);

    if (rc)
        session_release(s);
    return rc;
}

int session_salvage(struct session *s, struct store_load *what, struct err *e)
{
    *what = (struct store_load){0};
    return load(s, what, e);
}

int session_open(struct session *s, const char *path, struct err *e)
{
    return session_open_meta(s, path, e) ? -1 : session_load(s, e);
}

static int leads_out(const char *path)
{
    if (*path == '/')
        return 1;
    for (; path; path = strchr(path, '/')) {
        path += *path == '/';
        if (!strncmp(path, "..", 2) && (!path[2] || path[2] == '/'))
            return 1;
    }
    return 0;
}

enum session_file session_check(int dirfd, const struct meta_artifact *a)
{
    char hex[65];
    struct stat st;
    uint64_t size;
    struct err e;

    /* A stranger's list leads nowhere else. */
    if (!a->path || leads_out(a->path) || fstatat(dirfd, a->path, &st, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(st.st_mode))
        return SESSION_FILE_MISSING;
    if (io_sha256(dirfd, a->path, hex, &size, &e) || size != a->size || strcmp(hex, a->sha256) != 0)
        return SESSION_FILE_CHANGED;
    return SESSION_FILE_OK;
}

void session_release(struct session *s)
{
    if (s->unpacked)
        session_dir_remove(s->unpacked);
    if (s->sweeper)
        close(s->sweeper - 1);
    free(s->unpacked);
    free(s->path);
    meta_release(&s->meta);
    store_release(&s->store);
    *s = (struct session){0};
}
