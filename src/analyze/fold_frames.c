/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fold_frames.h"

#include "base/hash.h"
#include "model/frame_text.h"

#include <string.h>

struct wanted {
    const struct profile_frame *list, *key;
};

/* A function is the same whatever file its code lines are of (inlined headers), but for Python and
 * JavaScript, where the file tells functions of one name apart; with lines asked for, place matters
 * everywhere. */
static uint32_t file_key(const struct profile_frame *k)
{
    return k->kind == FRAME_PYTHON || k->kind == FRAME_JIT || k->line ? k->file : 0;
}

static uint64_t frame_hash(const struct profile_frame *k)
{
    return hash_mix(hash_mix((uint64_t)k->func << 32 | k->module, (uint64_t)file_key(k) << 32 | k->line),
                    (uint64_t)k->kind << 16 | (uint64_t)k->inlined << 8 | k->unknown);
}

static int same(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;
    const struct profile_frame *a = &w->list[id - 1], *b = w->key;

    return a->func == b->func && a->module == b->module && a->line == b->line && a->kind == b->kind &&
           a->inlined == b->inlined && a->unknown == b->unknown && file_key(a) == file_key(b);
}

static uint32_t intern(struct fold_frames *f, const struct profile_frame *key)
{
    struct wanted w = {f->p->frames.a, key};
    uint64_t hash = frame_hash(key);
    uint32_t id = index_find(&f->index, hash, same, &w);

    if (id) {
        if (!f->p->frames.a[id - 1].file)
            f->p->frames.a[id - 1].file = key->file;
        return id - 1;
    }
    *vec_push(&f->p->frames) = *key;
    index_add(&f->index, hash, (uint32_t)f->p->frames.n);
    return (uint32_t)f->p->frames.n - 1;
}

static uint32_t string(struct fold_frames *f, uint32_t id)
{
    if (!id || id > strtab_count(&f->s->strings))
        return 0;
    if (!f->string[id])
        f->string[id] = strtab_add(&f->p->strings, strtab_get(&f->s->strings, id));
    return f->string[id];
}

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Functions that importers know by their place alone, "[libc.so.6]" at an address, or blank in a library; and
 * Java's classes, which keep their L where ids are asked for, as perf script's collapsers have it. */
static void imported_name(const struct fold_frames *f, const struct frame *fr, const char *name,
                          struct buf *out)
{
    const struct module *m = frames_module(&f->s->frames, fr->module);
    size_t n = strlen(name);

    if (f->o->addrs && fr->flags & FRAME_NAMELESS)
        buf_addf(out, "%.*s <%llx>]", (int)(n - 1), name, (unsigned long long)fr->addr);
    else if (!f->o->verbatim && m && !name[strspn(name, " ")])
        buf_addf(out, "[%s]", base(strtab_get(&f->s->strings, m->path)));
    else if (fr->flags & FRAME_CLASS && (f->o->pid_suffix || f->o->tid_suffix))
        buf_addf(out, "L%s", name);
    else
        buf_addstr(out, name);
}

static const char *suffix(const struct fold_frames *f, unsigned kind)
{
    return kind == FRAME_KERNEL && f->o->kernel_suffix ? "_[k]"
           : kind == FRAME_JIT && f->o->jit_suffix     ? "_[j]"
                                                       : NULL;
}

/* "do_syscall_64" or, when asked, "do_syscall_64_[k]". */
static uint32_t function(struct fold_frames *f, uint32_t id, const struct frame *fr)
{
    const char *mark = suffix(f, fr->kind);
    struct buf name = {0};
    uint32_t out;

    if (!mark && !(fr->flags & (FRAME_NAMELESS | FRAME_CLASS)) && *strtab_get(&f->s->strings, id) != ' ')
        return string(f, id);
    imported_name(f, fr, strtab_get(&f->s->strings, id), &name);
    if (mark && (name.len <= strlen(mark) || strcmp(name.data + name.len - strlen(mark), mark) != 0))
        buf_addstr(&name, mark);
    out = strtab_add(&f->p->strings, name.data);
    buf_release(&name);
    return out;
}

/* Code that nobody can name. */
static uint32_t unnamed(struct fold_frames *f, const struct frame *fr)
{
    struct buf text = {0};
    uint32_t id;

    frame_place(&f->s->frames, &f->s->strings, fr, &text);
    id = strtab_addn(&f->p->strings, buf_str(&text), text.len);
    buf_release(&text);
    return id;
}

static void map_frame(struct fold_frames *f, uint32_t id)
{
    const struct frame *fr = frames_get(&f->s->frames, id);
    const struct module *m = frames_module(&f->s->frames, fr->module);
    const struct frame_name *names;
    struct frame_name self;
    uint32_t n = frames_names(&f->s->frames, id, &self, &names);
    struct profile_frame key = {.kind = fr->kind, .module = m ? string(f, m->path) : 0};

    f->first[id] = (uint32_t)f->seq.n;
    f->n[id] = n && f->o->inlines ? n : 1;
    if (!n) {
        key.func = unnamed(f, fr);
        key.unknown = 1;
        *vec_push(&f->seq) = intern(f, &key);
        return;
    }
    for (uint32_t i = 0; i < f->n[id]; i++) {
        key.func = function(f, names[i].func, fr);
        key.file = string(f, names[i].file);
        key.line = f->o->lines ? names[i].line : 0;
        key.inlined = i > 0;
        key.unknown = (fr->flags & FRAME_NAMELESS) != 0 ||
                      frame_name_is_place(strtab_get(&f->s->strings, names[i].func));
        *vec_push(&f->seq) = intern(f, &key);
    }
}

void fold_frames_init(struct fold_frames *f, struct profile *p, const struct store *s,
                      const struct fold_opts *o)
{
    size_t n = s->frames.list.n;

    *f = (struct fold_frames){.p = p, .s = s, .o = o};
    f->string = mem_calloc(strtab_count(&s->strings) + 1, sizeof(*f->string));
    f->first = mem_calloc(n + 1, sizeof(*f->first));
    f->n = mem_calloc(n + 1, sizeof(*f->n));
    index_reserve(&f->index, n + 1);
    index_reserve(&p->strings.index, n);
    *vec_push(&p->frames) = (struct profile_frame){.func = strtab_add(&p->strings, "all")};
    for (uint32_t id = 1; id <= n; id++)
        map_frame(f, id);
    f->one_to_one = p->frames.n == n + 1 && f->seq.n == n;
}

void fold_frames_release(struct fold_frames *f)
{
    free(f->string);
    free(f->first);
    free(f->n);
    vec_release(&f->seq);
    index_release(&f->index);
    map_release(&f->gpu);
}

uint32_t fold_frames_task(struct fold_frames *f, const char *name)
{
    struct profile_frame key = {.func = strtab_add(&f->p->strings, name)};

    return intern(f, &key);
}

uint32_t fold_frames_marker(struct fold_frames *f, const char *text)
{
    struct profile_frame key = {.func = strtab_add(&f->p->strings, text), .kind = FRAME_MARKER};

    return intern(f, &key);
}

uint32_t fold_frames_gpu(struct fold_frames *f, uint32_t name)
{
    uint64_t *known = map_put(&f->gpu, name);
    char *text;

    if (!*known) {
        text = mem_printf("CUDA:%s", name ? strtab_get(&f->s->strings, name) : "[unnamed]");
        *known = 1 + intern(f, &(struct profile_frame){.func = strtab_add(&f->p->strings, text),
                                                       .kind = FRAME_GPU});
        free(text);
    }
    return (uint32_t)*known - 1;
}

uint32_t fold_frames_none(struct fold_frames *f)
{
    struct profile_frame key = {
        .func = strtab_add(&f->p->strings, "[no stack]"), .kind = FRAME_MARKER, .unknown = 1};

    return intern(f, &key);
}
