/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/buf.h"

#include <stdarg.h>
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

/* One write() a line, so that lines of the target and ours do not mix. */
static void put(enum log_level level, const char *prefix, const char *fmt, va_list ap)
{
    struct buf b = {0};

    if (level > max_level)
        return;
    buf_addstr(&b, prefix);
    buf_vaddf(&b, fmt, ap);
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
