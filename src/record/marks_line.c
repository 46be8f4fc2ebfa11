/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks_line.h"

#include "base/utf8.h"

#include <limits.h>
#include <string.h>

struct word {
    const char *p;
    size_t n;
};

/* What may be shown anywhere, without blanks at the ends. */
static void clean(char out[MARK_BYTES + 1], const char *p, size_t n)
{
    size_t len = 0;

    for (size_t i = 0, step; i < n; i += step) {
        step = utf8_len(p + i, n - i);
        if (step && (p[i] == '\t' || !utf8_acts(p + i, step))) {
            memcpy(out + len, p[i] == '\t' ? " " : p + i, step);
            len += step;
        } else {
            step = step ? step : 1;
            out[len++] = '?';
        }
    }
    while (len && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
    n = strspn(out, " ");
    memmove(out, out + n, len - n + 1);
}

static struct word next_word(const char **at)
{
    struct word w = {*at + strspn(*at, " "), 0};

    w.n = strcspn(w.p, " ");
    *at = w.p + w.n;
    *at += strspn(*at, " ");
    return w;
}

static int is(struct word w, const char *name)
{
    return w.n == strlen(name) && !memcmp(w.p, name, w.n);
}

static int parse_number(const char *s, uint64_t *out)
{
    uint64_t v = 0;

    if (!*s)
        return 0;
    for (; *s; s++) {
        unsigned digit = (unsigned char)*s - '0';

        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return 0;
        v = v * 10 + digit;
    }
    *out = v;
    return 1;
}

/* "@4711 ", with that sign, in front: *pid is set. -1: no process's or thread's number. */
static int speaks_for(const char **at, char sign, pid_t *pid)
{
    char number[12];
    struct word w;
    uint64_t v;

    if (**at != sign)
        return 0;
    ++*at;
    w = next_word(at);
    if (!w.n || w.n >= sizeof(number))
        return -1;
    memcpy(number, w.p, w.n);
    number[w.n] = '\0';
    if (!parse_number(number, &v) || !v || v > INT_MAX)
        return -1;
    *pid = (pid_t)v;
    return 0;
}

static int name_unit(struct mark *m, struct mark_room *room, struct word kind, const char *id)
{
    size_t n = strlen(id);

    if (!kind.n)
        return -1;
    memcpy(room->kind, kind.p, kind.n);
    room->kind[kind.n] = '\0';
    memcpy(room->id, id, n + 1);
    m->numbered = parse_number(room->id, &m->number);
    memcpy(room->text, room->kind, kind.n + 1); /* `kind` and `id` may lie in it: they are copied by now */
    if (n) {
        room->text[kind.n] = ' ';
        memcpy(room->text + kind.n + 1, room->id, n + 1);
    }
    return 0;
}

int marks_line(struct mark *m, struct mark_room *room, pid_t *pid, const char *line, size_t n)
{
    const char *at = room->text;
    struct word verb, kind;

    m->kind = room->kind;
    m->id = room->id;
    m->text = room->text;
    m->number = 0;
    m->numbered = 0;
    m->thread = 0;
    room->kind[0] = room->id[0] = '\0';
    clean(room->text, line, n < MARK_BYTES ? n : MARK_BYTES);
    if (speaks_for(&at, '@', pid) || speaks_for(&at, '#', &m->thread))
        return -1;
    verb = next_word(&at);
    if (is(verb, "step") && *at) {
        m->verb = MARK_STEP;
        return name_unit(m, room, verb, at);
    }
    if (is(verb, "begin") || is(verb, "end")) {
        m->verb = is(verb, "begin") ? MARK_BEGIN : MARK_END;
        kind = next_word(&at);
        return name_unit(m, room, kind, at);
    }
    if (is(verb, "join") || is(verb, "leave")) {
        m->verb = is(verb, "join") ? MARK_JOIN : MARK_LEAVE;
        kind = next_word(&at);
        return name_unit(m, room, kind, at);
    }
    if (is(verb, "mark") && *at) {
        m->verb = MARK_INSTANT;
        memcpy(room->id, at, strlen(at) + 1);
        memcpy(room->text, room->id, strlen(room->id) + 1);
        return 0;
    }
    if (is(verb, "lost") && parse_number(at, &m->number)) {
        m->verb = MARK_LOST;
        m->numbered = 1;
        return 0;
    }
    return -1;
}
