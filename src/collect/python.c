/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/python.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/store_visit.h"
#include "unwind/py_walk.h"

#include <stdio.h>
#include <string.h>

void pythons_init(struct pythons *py, struct store *s, struct meta *m, struct bpfside *b, struct track *t)
{
    *py = (struct pythons){.store = s, .meta = m, .bpf = b, .track = t};
}

void pythons_release(struct pythons *py)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&py->copies, &i));)
        free((void *)(uintptr_t)s->val);
    map_release(&py->copies);
    map_release(&py->frames);
    py_detector_release(&py->detector);
    py_codes_release(&py->codes);
    vec_release(&py->layouts);
    free(py->memory);
}

void pythons_ids(struct pythons *py, struct store_visit *v)
{
    store_visit_cache(v, &py->frames);
    memset(py->lately, 0, sizeof(py->lately));
    store_visit_frame(v, &py->unnamed);
}

/* Its memory, while it lives; borrowed until the next call. */
static struct py_mem memory_of(struct pythons *py, const struct process *p)
{
    if (!py->memory)
        py->memory = py_process_new(0);
    py->memory->pid = p->gone ? 0 : (pid_t)p->ns_tgid;
    py_process_forget(py->memory);
    return py_process_mem(py->memory);
}

/* ---- processes ---- */

/* The index of a layout on the kernel's side, entered when new; -1 when there is no room. */
static int layout_index(struct pythons *py, const struct py_layout *l)
{
    size_t i;

    for (i = 0; i < py->layouts.n; i++)
        if (!memcmp(&py->layouts.a[i], l, sizeof(*l)))
            return (int)i;
    if (py->bpf && bpfside_set_layout(py->bpf, (uint32_t)i, l))
        return -1;
    *vec_push(&py->layouts) = *l;
    return (int)i;
}

static void note_language(struct meta *m, const char *name)
{
    for (size_t i = 0; m && i < m->languages.n; i++)
        if (!strcmp(m->languages.a[i], name))
            return;
    if (m)
        *vec_push(&m->languages) = mem_strdup(name);
}

static void note_refused(struct pythons *py, const char *text)
{
    log_warn("%s", text);
    if (py->meta)
        *vec_push(&py->meta->notes) = mem_strdup(text);
}

/* Its GIL is off unless a module asks for it, and then nobody can tell from outside that it is on again. */
static void note_threading(struct pythons *py, const struct py_target *t)
{
    char *text;
    int known = 0;

    if (!(t->layout.flags & PY_LAYOUT_FREE_THREADED) || !py->meta)
        return;
    text = mem_printf("%s is free-threaded: it has no GIL to wait for, and none is recorded", t->path);
    for (size_t i = 0; i < py->meta->notes.n; i++)
        known |= !strcmp(py->meta->notes.a[i], text);
    if (known)
        free(text);
    else
        *vec_push(&py->meta->notes) = text;
}

static void install(struct pythons *py, struct process *p, struct process_python *found)
{
    int layout = layout_index(py, &found->target.layout);

    if (layout < 0) {
        note_refused(py, "Python frames are left out for a process: too many kinds of CPython at once");
        free(found);
        return;
    }
    found->target.proc.layout = (uint32_t)layout;
    found->target.proc.generation = found->generation;
    free(p->python);
    p->python = found;
    if (py->bpf)
        bpfside_set_python(py->bpf, p->tgid, &found->target.proc);
    note_language(py->meta, "python");
    note_threading(py, &found->target);
}

void pythons_mapped(struct pythons *py, struct process *p, uint32_t file, const struct mapping *m)
{
    const struct code_file *f = modules_get(track_modules(py->track), file);
    struct py_mapping pm = {
        .path = f->path, .start = m->start, .pgoff = m->pgoff, .fd = f->fd, .dev = f->dev, .ino = f->ino};
    struct process_python *found;
    struct err e = {0};
    int rc;

    if (p->python || f->fd < 0)
        return;
    pm.build_id = f->layout.build_id;
    pm.build_id_len = f->layout.build_id_len;
    pm.main = p->maps.n && p->maps.a[0].file == file; /* the program is mapped first, and mostly lowest */
    found = mem_calloc(1, sizeof(*found));
    rc = py_detect(&py->detector, &pm, &found->target, &e);
    if (rc < 0 && e.msg[0])
        note_refused(py, e.msg);
    if (rc != 1) {
        free(found);
        return;
    }
    found->generation = ++py->generation;
    log_debug("process %u runs CPython: %s", p->ns_tgid, f->path);
    install(py, p, found);
}

void pythons_forked(struct pythons *py, struct process *child, const struct process *parent)
{
    if (!parent || !parent->python)
        return;
    child->python = mem_dup(parent->python, sizeof(*parent->python));
    if (py->bpf)
        bpfside_set_python(py->bpf, child->tgid, &child->python->target.proc);
}

void pythons_execed(struct pythons *py, struct process *p)
{
    if (!p->python)
        return;
    if (py->bpf)
        bpfside_del_python(py->bpf, p->tgid);
    free(p->python);
    p->python = NULL;
}

/* A look may meet thread states that are just being linked in: so many do not. */
enum { MISFITS = 8 };

void pythons_check(struct pythons *py, struct process *p)
{
    struct process_python *x = p->python;
    struct py_mem mem;
    struct err e = {0};
    char *text;
    uint64_t interp;
    int rc;

    if (!x || x->checked || p->gone || !p->ns_tgid)
        return;
    mem = memory_of(py, p);
    /* Not there: it ends, or begins another program. */
    if (py_mem_read(&mem, x->target.proc.runtime + x->target.layout.interp_head, &interp, sizeof(interp)))
        return;
    rc = py_walk_check(&mem, &x->target.layout, &x->target.proc, &e);
    x->checked = rc > 0;
    if (rc >= 0 || ++x->misfits < MISFITS)
        return;
    text = mem_printf("%s: %s; its stacks stay native", x->target.path, e.msg);
    note_refused(py, text);
    free(text);
    pythons_execed(py, p);
}

/* ---- code objects ---- */

static uint64_t code_hash(uint32_t generation, uint64_t code, uint32_t name, uint32_t firstline)
{
    return hash_mix(hash_mix(code, generation), (uint64_t)name << 32 | firstline);
}

void pythons_code(struct pythons *py, const struct wire_pycode *r)
{
    uint64_t *slot =
        map_put(&py->copies, code_hash(r->key.generation, r->key.code, r->key.name, r->key.firstline));

    if (!*slot)
        *slot = (uintptr_t)mem_dup(r, sizeof(*r));
}

/* From the process itself where it still can be read: lines, and names longer than what was copied. */
static uint32_t read_code(struct pythons *py, const struct process *p, const struct py_frame *f)
{
    const struct process_python *x = p->python;
    uint64_t *copy = map_get(&py->copies, code_hash(x->generation, f->code, f->name, f->firstline));
    struct py_code c = {0};
    int rc = -1;

    if (!p->gone && p->ns_tgid) {
        struct py_mem mem = memory_of(py, p);

        rc = py_code_read(&c, &mem, &x->target.layout, f);
    }
    if (copy) {
        const struct wire_pycode *r = (const void *)(uintptr_t)*copy;

        if (rc < 0)
            rc = py_code_from_copy(&c, &r->func, &r->file, f->firstline);
        else
            py_code_prefer_copy(&c, &r->func, &r->file);
    }
    if (rc < 0)
        py->names_lost++;
    if (copy) {
        free((void *)(uintptr_t)*copy);
        map_del(&py->copies, code_hash(x->generation, f->code, f->name, f->firstline));
    }
    return py_codes_add(&py->codes, x->generation, f, &c);
}

static uint32_t unnamed(struct pythons *py)
{
    struct frame key = {.kind = FRAME_PYTHON, .func = strtab_add(&py->store->strings, "[unknown Python]")};

    if (!py->unnamed)
        py->unnamed = frames_add(&py->store->frames, &key);
    return py->unnamed;
}

uint32_t pythons_frame(struct pythons *py, struct process *p, const struct py_frame *f)
{
    uint32_t generation = p->python->generation, code;
    uint64_t key = hash_mix(code_hash(generation, f->code, f->name, f->firstline),
                            (uint64_t)(uint32_t)f->lasti << 1 | (f->flags & PY_FRAME_LINE_UNSURE ? 1 : 0));
    struct python_lately *lately = &py->lately[key >> 32 & (PYTHON_LATELY - 1)];
    uint64_t *slot;
    struct frame frame = {.kind = FRAME_PYTHON};
    const struct py_code *c;
    uint32_t id;
    int unsure;

    if (lately->frame && lately->key == key)
        return lately->frame;
    slot = map_get(&py->frames, key);
    if (slot) {
        *lately = (struct python_lately){key, (uint32_t)*slot};
        return lately->frame;
    }
    code = py_codes_find(&py->codes, generation, f);
    if (!code) {
        track_gather(py->track); /* its names may have been sent since the control ring was last read */
        code = read_code(py, p, f);
    }
    c = py_codes_get(&py->codes, code);
    if (!c || !c->name)
        id = unnamed(py);
    else {
        frame.func = strtab_add(&py->store->strings, c->name);
        frame.file = strtab_add(&py->store->strings, c->file);
        frame.line = py_code_line(c, f, &unsure);
        frame.flags = unsure ? FRAME_LINE_UNSURE : 0;
        id = frames_add(&py->store->frames, &frame);
    }
    *map_put(&py->frames, key) = id;
    return id;
}
