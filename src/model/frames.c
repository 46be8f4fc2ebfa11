/* SPDX-License-Identifier: Apache-2.0 */
#include "model/frames.h"

#include "base/hash.h"

#include <string.h>
#include <unistd.h>

struct wanted_frame {
    const struct frames *frames;
    const struct frame *key;
};

struct wanted_module {
    const struct frames *frames;
    const struct module *key;
};

void frames_release(struct frames *f)
{
    for (size_t i = 0; i < f->modules.n; i++)
        if (f->modules.a[i].fd >= 0)
            close(f->modules.a[i].fd);
    vec_release(&f->list);
    vec_release(&f->names);
    vec_release(&f->modules);
    index_release(&f->frame_index);
    index_release(&f->module_index);
}

static uint64_t frame_hash(const struct frame *k)
{
    uint64_t h = hash_mix((uint64_t)k->kind << 40 | (uint64_t)k->flags << 32 | k->module, k->addr);

    return hash_mix(h, hash_mix((uint64_t)k->func << 32 | k->file, k->line));
}

static int same_frame(const void *ctx, uint32_t id)
{
    const struct wanted_frame *w = ctx;
    const struct frame *a = &w->frames->list.a[id - 1], *b = w->key;

    return a->addr == b->addr && a->module == b->module && a->func == b->func && a->line == b->line &&
           a->file == b->file && a->kind == b->kind && a->flags == b->flags;
}

static void index_frames(struct frames *f)
{
    index_release(&f->frame_index);
    index_reserve(&f->frame_index, f->list.n);
    for (uint32_t id = 1; id <= f->list.n; id++)
        index_add(&f->frame_index, frame_hash(&f->list.a[id - 1]), id);
}

uint32_t frames_add(struct frames *f, const struct frame *key)
{
    struct wanted_frame w = {f, key};
    uint64_t hash = frame_hash(key);
    struct frame *new;
    uint32_t id;

    if (f->frame_index.n != f->list.n)
        index_frames(f);
    id = index_find(&f->frame_index, hash, same_frame, &w);
    if (id)
        return id;
    new = vec_push(&f->list);
    *new = *key;
    new->names = new->names_n = 0;
    id = (uint32_t)f->list.n;
    index_add(&f->frame_index, hash, id);
    return id;
}

static uint64_t module_hash(const struct module *k)
{
    uint64_t h = hash_mix((uint64_t)k->kind << 32 | k->path, k->ino) ^ hash_mix(k->dev, k->task);

    return h ^ hash_bytes(k->build_id, k->build_id_len <= sizeof(k->build_id) ? k->build_id_len : 0);
}

static int same_module(const void *ctx, uint32_t id)
{
    const struct wanted_module *w = ctx;
    const struct module *a = &w->frames->modules.a[id - 1], *b = w->key;

    return a->path == b->path && a->kind == b->kind && a->ino == b->ino && a->dev == b->dev &&
           a->task == b->task && a->build_id_len == b->build_id_len &&
           !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static void index_modules(struct frames *f)
{
    index_release(&f->module_index);
    for (uint32_t id = 1; id <= f->modules.n; id++)
        index_add(&f->module_index, module_hash(&f->modules.a[id - 1]), id);
}

uint32_t frames_add_module(struct frames *f, const struct module *key)
{
    struct wanted_module w = {f, key};
    uint64_t hash = module_hash(key);
    uint32_t id;

    if (f->module_index.n != f->modules.n)
        index_modules(f);
    id = index_find(&f->module_index, hash, same_module, &w);
    if (id) {
        if (key->fd >= 0 && key->fd != f->modules.a[id - 1].fd)
            close(key->fd);
        return id;
    }
    *vec_push(&f->modules) = *key;
    id = (uint32_t)f->modules.n;
    index_add(&f->module_index, hash, id);
    return id;
}

uint32_t frames_names(const struct frames *f, uint32_t id, struct frame_name *self,
                      const struct frame_name **names)
{
    const struct frame *fr = frames_get(f, id);

    if (!fr)
        return 0;
    if (fr->names_n) {
        *names = f->names.a + fr->names;
        return fr->names_n;
    }
    if (!fr->func)
        return 0;
    *self = (struct frame_name){fr->func, fr->file, fr->line};
    *names = self;
    return 1;
}

void frames_set_names(struct frames *f, uint32_t id, const struct frame_name *names, uint32_t n)
{
    struct frame *fr;

    if (!id || id > f->list.n)
        return;
    if (n > UINT16_MAX)
        n = UINT16_MAX;
    /* Always appended, never in place: the session writer takes frames whose names lie beyond those it has
     * written. */
    fr = &f->list.a[id - 1];
    fr->names = (uint32_t)f->names.n;
    fr->names_n = (uint16_t)n;
    for (uint32_t i = 0; i < n; i++)
        *vec_push(&f->names) = names[i];
}

size_t frame_name_whole(const char *s, size_t n)
{
    static const char *const ends[] = {".isra.",     ".constprop.", ".part.",   ".cold", ".llvm.",
                                       ".lto_priv.", " [clone ",    ".__uniq.", NULL};

    for (const char *const *end = ends; *end; end++) {
        const char *at = memmem(s, n, *end, strlen(*end));

        if (at && at > s)
            n = (size_t)(at - s);
    }
    return n;
}
