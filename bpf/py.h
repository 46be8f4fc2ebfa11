/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPython's structures as the walkers see them, and what they give. For BPF and user space; include after the
 * __u types are known. Offsets are those of CPython 3.8 to 3.14, 64-bit (its headers
 * Include/cpython/pystate.h, Include/internal/pycore_{runtime,interp,frame,interpframe_structs,gil}.h,
 * Include/cpython/{code,unicodeobject}.h); the table is src/unwind/py_layout.c. From 3.13 they are those that
 * _PyRuntime itself states (_Py_DebugOffsets).
 */
#ifndef WPROF_BPF_PY_H
#define WPROF_BPF_PY_H

enum {
    PY_MAX_DEPTH = 512,   /* Python frames a stack; deeper ends PY_FULL. A power of two */
    PY_MAX_SEARCH = 4096, /* thread states and interpreters looked at in one search */
    PY_CHUNK = 256,       /* bytes of scratch for one read */
    PY_TSTATE_READ = 192, /* of these, what is read of a thread state */
    PY_INTERP_READ = 128, /* at most this of an interpreter, from layout.interp_next to interp_threads */
    PY_CODE_READ = 144,   /* and of a code object, from layout.code_type on */
    PY_NAME_MAX = 128,    /* bytes of a name that are copied at first sight */
};

/* How the start of a run (a C call of the eval loop) shows in the chain of frames. */
enum py_entry {
    PY_ENTRY_NONE,  /* 3.8, 3.9: nowhere; each frame is a run of its own */
    PY_ENTRY_EVERY, /* 3.10: each frame is a run of its own and has its _PyCFrame */
    PY_ENTRY_FLAG,  /* 3.11: frame.is_entry; runs and _PyCFrames go in parallel */
    PY_ENTRY_SHIM,  /* 3.12 on: a frame of the eval loop's own lies in its C stack frame */
};

enum {
    PY_LAYOUT_FRAME_IN_CFRAME = 1, /* 3.11, 3.12: the first frame is _PyCFrame's, not the thread state's */
    PY_LAYOUT_LASTI = 2,           /* to 3.10: frame_instr is an int index, not a pointer into bytecode */
    PY_LAYOUT_GIL_IN_RUNTIME = 4,  /* to 3.11: gil is a struct in _PyRuntime, not an interpreter's pointer */
    PY_LAYOUT_FREE_THREADED = 8,
};

/* Offsets in bytes. 0 is "not in this version" for ts_cframe, ts_native_id, frame_tlbc and most of code_*. */
struct py_layout {
    __u16 version;   /* 0x030b: 3.11 */
    __u8 flags;      /* PY_LAYOUT_* */
    __u8 entry;      /* enum py_entry */
    __u8 shim_owner; /* PY_ENTRY_SHIM: owner values from here on are no Python frames */
    __u8 lasti_unit; /* PY_LAYOUT_LASTI: bytes of bytecode to one unit of it */
    __u8 str_shift;  /* where in PyASCIIObject.state the three bits of `kind` are; compact and ascii follow */
    __u8 pad;
    /* _PyRuntimeState: the newest interpreter. PyInterpreterState */
    __u16 interp_head, interp_next, interp_threads;
    /* PyThreadState, with where frames begin; _PyCFrame */
    __u16 ts_prev, ts_next, ts_interp, ts_thread_id, ts_native_id, ts_frame, ts_cframe;
    __u16 cframe_frame, cframe_prev;
    /* PyFrameObject or _PyInterpreterFrame: the part that is read, and in it; owner is is_entry in 3.11 */
    __u16 frame_base, frame_len;
    __u16 frame_back, frame_code, frame_instr, frame_owner, frame_tlbc;
    /* PyCodeObject. version: a number of its own, 32 bits (3.12 on) */
    __u16 code_type, code_firstline, code_filename, code_name, code_qualname, code_linetable, code_version;
    __u16 code_start; /* co_code_adaptive (3.11 on) */
    __u16 code_tlbc;  /* each thread's copy of the bytecode (free-threaded 3.14) */
    /* PyBytesObject; PyASCIIObject, and the sizes of both compact headers */
    __u16 bytes_size, bytes_data;
    __u16 str_length, str_state, str_ascii, str_compact;
    /* Where the GIL is; struct _gil_runtime_state */
    __u16 gil, gil_locked, gil_holder, gil_size;
};

/* One process that runs CPython. `layout` is the index in the includer's table of layouts. */
struct py_proc {
    __u64 runtime;   /* address of _PyRuntime */
    __u64 code_type; /* address of PyCode_Type, which tells code objects; 0: unknown, not checked */
    __u32 layout;
    __u32 generation; /* of the memory map: a new one after exec */
};

enum {
    PY_FRAME_ENTRY = 1,       /* the outermost frame of its run */
    PY_FRAME_LINE_UNSURE = 2, /* lasti is not known: use the first line */
};

/* One Python frame, innermost first in a stack. Code object identity: {generation, code, firstline, name}. */
struct py_frame {
    __u64 code; /* the code object's address */
    __u64 addr; /* PY_FRAME_ENTRY: an address inside the native frame of the run's eval loop; 0: not known */
    __u32 name; /* py_ident() of the code object */
    __u32 firstline;
    __s32 lasti; /* bytes from the bytecode's start to the instruction under way; < 0: before the first */
    __u32 flags; /* PY_FRAME_* */
};

enum py_status {
    PY_RUNNING,
    PY_DONE,      /* all frames read, also when there are none */
    PY_NO_THREAD, /* the thread has no Python thread state */
    PY_READ,      /* memory could not be read: frames so far are good */
    PY_FULL,      /* deeper than PY_MAX_DEPTH, or more thread states than PY_MAX_SEARCH */
};

/* What an includer keeps per thread between walks. Zeroed at first. */
struct py_cache {
    __u64 ts;   /* the thread's state, 0: none found last time */
    __u64 head; /* the newest interpreter's newest thread state when none was found */
};

/* The state of one walk; too big for a BPF stack. */
struct py_walk {
    __u64 thread_id;            /* fsbase: what pthread_self() gives */
    __u64 ts;                   /* the thread state found, 0: none */
    __u64 frame;                /* the next to read, 0: none left */
    __u64 cframe;               /* of the run under way (3.10, 3.11) */
    __u64 interp, next_ts;      /* search: the interpreter, the next thread state of it */
    __u64 older;                /* search: the next interpreter */
    __u64 idle_ts;              /* search: a match without frames, taken when no better one comes */
    __u64 head;                 /* the newest interpreter's newest thread state */
    __u64 code, name, filename; /* of the frame given last: its code object, addresses of its str objects */
    __u32 n;                    /* frames given */
    __u32 status;               /* enum py_status */
    __u32 bad;                  /* frames left out since they had no code object */
    __u32 searched;             /* thread states and interpreters looked at */
    __u8 chunk[PY_CHUNK];
};

/* A GIL. Who waits for it waits on a futex in [addr, addr + layout.gil_size). */
struct py_gil {
    __u64 addr;   /* struct _gil_runtime_state; 0: could not be read, or not made yet */
    __u64 holder; /* the thread state that has it, or had it last */
    __u32 locked; /* 1: held now. 0: free; always 0 where free-threading is on */
    __u32 pad;
};

/* A name as copied at first sight: kind bytes a character, in the machine's order. */
struct py_str {
    __u32 length; /* characters in all */
    __u8 kind;    /* 1, 2, 4; 0: could not be read */
    __u8 n;       /* bytes that are in data, <= PY_NAME_MAX */
    __u16 pad;
    char data[PY_NAME_MAX];
};

/*
 * Addresses of code objects are used again, and with them those of their names: all that describes one is
 * mixed. own: its number, where it has one; else its name's hash, which CPython keeps behind the length. The
 * multiplier is 2^64 / golden ratio (Knuth, volume 3, 6.4).
 */
static inline __attribute__((always_inline, unused)) __u32 py_ident(__u64 own, __u64 name, __u64 file,
                                                                    __u64 lines)
{
    __u64 h = (own ^ name) * 0x9e3779b97f4a7c15ull;

    h = (h ^ file) * 0x9e3779b97f4a7c15ull;
    h = (h ^ lines) * 0x9e3779b97f4a7c15ull;
    return (__u32)(h >> 32);
}

_Static_assert(sizeof(struct py_frame) == 32, "crosses the ring");
_Static_assert(sizeof(struct py_proc) == 24, "crosses a map");
_Static_assert(sizeof(struct py_layout) == 84, "crosses a map");

#endif
