/* SPDX-License-Identifier: Apache-2.0 */
/* The CPython in our own process, whose frames src/unwind's walker reads. */
#ifndef WPROF_AGENT_PYTHON_H
#define WPROF_AGENT_PYTHON_H

#include "agent/self.h"
#include "unwind/py_walk.h"

enum { PYTHON_TEXT = 1024 }; /* bytes of a name that are kept, UTF-8 */

/* What the loader knows of it. */
struct python_symbols {
    void *runtime, *code_type, *eval;
    uint64_t eval_size;
    unsigned version; /* 0x030b */
};

struct python {
    struct self *self;
    int found; /* 1: frames can be read; -1: not those of this version */
    unsigned version;
    struct py_proc proc;
    struct py_layout layout;
    uint64_t eval_start, eval_end; /* the eval loop's code; equal: not known */
    struct py_stack stack;
};

/* 1: it is loaded. Takes the loader's lock, so that no other lock may be held. */
int python_find(struct python_symbols *s);
/* 1: it can be read from now on, or never (p->found); 0: not yet. */
int python_take(struct python *p, const struct python_symbols *s);
int python_tail_calls(const struct python *p);

/* The calling thread's frames, into p->stack: how many; -1: they can't be read. */
int python_walk(struct python *p, struct py_cache *cache);

/* A str object as UTF-8: how many bytes, 0: it can't be read. */
size_t python_text(const struct python *p, uint64_t addr, char out[PYTHON_TEXT]);
/* Where the code object of a frame has its name (qualified, where there is one) and its file. */
void python_names(const struct python *p, uint64_t code, uint64_t *name, uint64_t *file);
/* Its line table: how many bytes, at most n. */
size_t python_lines(const struct python *p, uint64_t code, uint8_t *out, size_t n);

#endif
