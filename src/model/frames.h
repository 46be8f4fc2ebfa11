/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and frames. A frame is first raw, {kind, module, address}, and gets its names later: from the
 * symbol tables at sealing (or by the reader of an unsealed log), at once for Python and imported frames. One
 * raw frame has several names where code was inlined: outermost (the real function) first, the innermost
 * inlined callee last.
 */
#ifndef WPROF_MODEL_FRAMES_H
#define WPROF_MODEL_FRAMES_H

#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

enum module_kind {
    MODULE_NONE,
    MODULE_FILE, /* an ELF file; addresses are its own virtual addresses (p_vaddr space), not file offsets */
    MODULE_KERNEL, /* vmlinux; addresses as in kallsyms of that boot */
    MODULE_KMOD,
    MODULE_VDSO,
    MODULE_JIT, /* a process's anonymous executable memory; addresses absolute; path "perf-PID.map" or "[jit]"
                 */
    MODULE_OTHER,
};

struct module {
    uint32_t path; /* strtab: as the target saw it */
    uint8_t kind;
    uint8_t build_id_len; /* 0: unknown */
    uint8_t build_id[20];
    uint32_t task;     /* MODULE_JIT: the process's leader, else 0 */
    uint64_t dev, ino; /* MODULE_FILE: identity besides the build id */
    int fd;            /* while recording: the file, kept open; -1 else. Never on disk */
};

enum frame_kind {
    FRAME_NONE,
    FRAME_KERNEL,
    FRAME_NATIVE,
    FRAME_PYTHON,
    FRAME_JIT,
    FRAME_GPU,
    FRAME_MARKER, /* [truncated], [stack lost], [woken by]: func is the text */
    FRAME_GIL,    /* [waiting for the GIL]: the same */
    FRAME_KINDS,
};

enum {
    FRAME_RETURN = 1,      /* addr is a return address: its names are those of addr - 1 */
    FRAME_LINE_UNSURE = 2, /* Python: the line table was gone, `line` is the function's first */
    FRAME_NAMELESS = 4,    /* imported: func says in what it is, addr where */
    FRAME_CLASS = 8,       /* imported, of Java: func lost the L that its class's signature begins with */
};

struct frame {
    uint8_t kind, flags;
    uint16_t names_n;          /* 0: not named yet */
    uint32_t module;           /* 0: none */
    uint64_t addr;             /* native, kernel, JIT */
    uint32_t names;            /* the first of names_n entries in frames.names */
    uint32_t func, file, line; /* Python, marker and imported frames: part of the identity; else 0 */
};

struct frame_name {
    uint32_t func, file; /* strtab */
    uint32_t line;       /* 0: unknown */
};

struct frames {
    VEC(struct frame) list; /* frame id is index + 1 */
    VEC(struct frame_name) names;
    VEC(struct module) modules; /* module id is index + 1 */
    struct index frame_index, module_index;
};

void frames_release(struct frames *f); /* closes the modules' fds */

/* Finds or adds. Identity: kind, flags, module, addr, func, file, line. */
uint32_t frames_add(struct frames *f, const struct frame *key);
/* Finds or adds. Identity: kind, path, build id, dev, ino, task. `fd` is taken over when new, else closed. */
uint32_t frames_add_module(struct frames *f, const struct module *key);

/* Names of frame `id`; for frames that carry func themselves, those. Returns how many; *names is valid until
 * the next frames_* call that adds. `self` is room for one. */
uint32_t frames_names(const struct frames *f, uint32_t id, struct frame_name *self,
                      const struct frame_name **names);
void frames_set_names(struct frames *f, uint32_t id, const struct frame_name *names, uint32_t n);

/* How much of a native function's name is the source's: GCC and Clang append ".isra.0", ".cold" to the names
 * of its parts and copies. */
size_t frame_name_whole(const char *s, size_t n);

/* "[libc.so.6+0x1d0]": a name that only says where the code is. It counts as unknown. */
static inline int frame_name_is_place(const char *func)
{
    return func[0] == '[' && strstr(func, "+0x") != NULL;
}

static inline const struct frame *frames_get(const struct frames *f, uint32_t id)
{
    return id && id <= f->list.n ? &f->list.a[id - 1] : NULL;
}

static inline const struct module *frames_module(const struct frames *f, uint32_t id)
{
    return id && id <= f->modules.n ? &f->modules.a[id - 1] : NULL;
}

#endif
