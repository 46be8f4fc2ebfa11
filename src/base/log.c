/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static enum log_level max_level = LOG_INFO;

void log_set_level(enum log_level level)
{
    max_level = level;
}

enum log_level log_get_level(void)
{
    return max_level;
}

/* Names of files, functions and commands are foreign: what would act on a terminal becomes '?'. */
static void disarm(struct buf *b)
{
    size_t to = 0;

    for (size_t at = 0; at < b->len;) {
        size_t n = utf8_len(b->data + at, b->len - at);

        if (n && (b->data[at] == '\n' || b->data[at] == '\t' || !utf8_acts(b->data + at, n))) {
            memmove(b->data + to, b->data + at, n);
            to += n;
        } else {
            b->data[to++] = '?';
        }
        at += n ? n : 1;
    }
    b->len = to;
}

/* One write() a line, so that lines of the target and ours do not mix. */
static void put(enum log_level level, const char *prefix, const char *fmt, va_list ap)
{
    struct buf b = {0};

    if (level > max_level)
        return;
    buf_addstr(&b, prefix);
    buf_vaddf(&b, fmt, ap);
    disarm(&b);
    buf_addch(&b, '\n');
    for (size_t done = 0; done < b.len;) {
        ssize_t n = write(STDERR_FILENO, b.data + done, b.len - done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    buf_release(&b);
}

#define DEFINE_LOG(name, level, prefix)                                                                      \
    void name(const char *fmt, ...)                                                                          \
    {                                                                                                        \
        va_list ap;                                                                                          \
                                                                                                             \
        va_start(ap, fmt);                                                                                   \
        put(level, prefix, fmt, ap);                                                                         \
        va_end(ap);                                                                                          \
    }

DEFINE_LOG(log_error, LOG_ERROR, "wprof: ")
DEFINE_LOG(log_warn, LOG_WARN, "wprof: warning: ")
DEFINE_LOG(log_info, LOG_INFO, "wprof: ")
DEFINE_LOG(log_debug, LOG_DEBUG, "wprof: debug: ")
