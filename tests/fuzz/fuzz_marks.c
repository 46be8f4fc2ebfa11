/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of marks: what is taken of them may be shown anywhere, and says the same when it is said again; pairs
 * of them come out even. */
#include "base/utf8.h"
#include "record/marks_pairs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_clean(const char *s)
{
    size_t n = strlen(s), step;

    if (n > MARK_BYTES)
        abort();
    for (size_t i = 0; i < n; i += step) {
        step = utf8_len(s + i, n - i);
        if (!step || utf8_acts(s + i, step))
            abort();
    }
}

static void count(void *arg, const struct marks_span *s)
{
    size_t *spans = arg;

    is_clean(s->text);
    if (s->end < s->start)
        abort();
    ++*spans;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct marks_pairs pairs = {0};
    size_t spans = 0, begun = 0;
    uint64_t ts = 1;

    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size;
        struct mark_room room, again;
        struct mark m = {.ts = ts++}, same = {0};
        pid_t pid = 0;

        if (!marks_line(&m, &room, &pid, (const char *)data, n)) {
            is_clean(m.kind);
            is_clean(m.id);
            begun +=
                m.verb == MARK_STEP || m.verb == MARK_BEGIN || m.verb == MARK_INSTANT || m.verb == MARK_JOIN;
            if (m.verb == MARK_STEP &&
                (marks_line(&same, &again, &pid, m.text, strlen(m.text)) || strcmp(same.text, m.text) != 0))
                abort();
            marks_pairs_take(&pairs, &m, (uint32_t)pid & 3, count, &spans);
        }
        is_clean(room.text);
        data += n + (end != NULL);
        size -= n + (end != NULL);
    }
    marks_pairs_finish(&pairs, ts, count, &spans);
    if (spans + pairs.over != begun || pairs.n)
        abort();
    marks_pairs_release(&pairs);
    return 0;
}
