/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_layout.h"

#include "base/mem.h"

#include <string.h>

/*
 * offsetof() in CPython's own headers, x86-64. tests/unit/test_py_layout.c checks them against installed
 * headers where there are any. PyASCIIObject lost its wchar_t pointer in 3.12, _PyCFrame came in 3.10 and
 * went in 3.13.
 */
/* clang-format off */
static const struct py_layout layouts[] = {
    {
        .version = 0x0308,
        .flags = PY_LAYOUT_LASTI | PY_LAYOUT_GIL_IN_RUNTIME,
        .entry = PY_ENTRY_NONE,
        .lasti_unit = 1,
        .str_shift = 2,
        .interp_head = 32, .interp_next = 0, .interp_threads = 8,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 176, .ts_frame = 24,
        .frame_base = 24, .frame_len = 84,
        .frame_back = 24, .frame_code = 32, .frame_instr = 104, .frame_owner = 104,
        .code_type = 8, .code_firstline = 40, .code_filename = 104, .code_name = 112, .code_linetable = 120,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72,
        .gil = 1152, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
    {
        .version = 0x0309,
        .flags = PY_LAYOUT_LASTI | PY_LAYOUT_GIL_IN_RUNTIME,
        .entry = PY_ENTRY_NONE,
        .lasti_unit = 1,
        .str_shift = 2,
        .interp_head = 32, .interp_next = 0, .interp_threads = 8,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 176, .ts_frame = 24,
        .frame_base = 24, .frame_len = 84,
        .frame_back = 24, .frame_code = 32, .frame_instr = 104, .frame_owner = 104,
        .code_type = 8, .code_firstline = 40, .code_filename = 104, .code_name = 112, .code_linetable = 120,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72,
        .gil = 352, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
    {
        .version = 0x030a,
        .flags = PY_LAYOUT_LASTI | PY_LAYOUT_GIL_IN_RUNTIME,
        .entry = PY_ENTRY_EVERY,
        .lasti_unit = 2,
        .str_shift = 2,
        .interp_head = 32, .interp_next = 0, .interp_threads = 8,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 176, .ts_frame = 24, .ts_cframe = 48,
        .cframe_prev = 8,
        .frame_base = 24, .frame_len = 76,
        .frame_back = 24, .frame_code = 32, .frame_instr = 96, .frame_owner = 96,
        .code_type = 8, .code_firstline = 40, .code_filename = 104, .code_name = 112, .code_linetable = 120,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72,
        .gil = 352, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
    {
        .version = 0x030b,
        .flags = PY_LAYOUT_FRAME_IN_CFRAME | PY_LAYOUT_GIL_IN_RUNTIME,
        .entry = PY_ENTRY_FLAG,
        .str_shift = 2,
        .interp_head = 40, .interp_next = 0, .interp_threads = 16,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 152, .ts_native_id = 160,
        .ts_frame = 56, .ts_cframe = 56,
        .cframe_frame = 8, .cframe_prev = 16,
        .frame_base = 0, .frame_len = 72,
        .frame_back = 48, .frame_code = 32, .frame_instr = 56, .frame_owner = 68,
        .code_type = 8, .code_firstline = 72, .code_filename = 112, .code_name = 120, .code_qualname = 128,
        .code_linetable = 136, .code_start = 184,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72,
        .gil = 360, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
    {
        .version = 0x030c,
        .flags = PY_LAYOUT_FRAME_IN_CFRAME,
        .entry = PY_ENTRY_SHIM,
        .shim_owner = 3,
        .str_shift = 2,
        .interp_head = 40, .interp_next = 0, .interp_threads = 72,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 136, .ts_native_id = 144,
        .ts_frame = 56, .ts_cframe = 56,
        .cframe_frame = 0, .cframe_prev = 8,
        .frame_base = 0, .frame_len = 72,
        .frame_back = 8, .frame_code = 0, .frame_instr = 56, .frame_owner = 70,
        .code_type = 8, .code_firstline = 68, .code_filename = 112, .code_name = 120, .code_qualname = 128,
        .code_linetable = 136, .code_start = 192, .code_version = 92,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56,
        .gil = 384, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
    {
        .version = 0x030d,
        .entry = PY_ENTRY_SHIM,
        .shim_owner = 3,
        .str_shift = 2,
        .interp_head = 632, .interp_next = 7264, .interp_threads = 7344,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 152, .ts_native_id = 160, .ts_frame = 72,
        .frame_base = 0, .frame_len = 71,
        .frame_back = 8, .frame_code = 0, .frame_instr = 56, .frame_owner = 70,
        .code_type = 8, .code_firstline = 68, .code_filename = 112, .code_name = 120, .code_qualname = 128,
        .code_linetable = 136, .code_start = 200, .code_version = 92,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56,
        .gil = 16, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
    {
        .version = 0x030e,
        .entry = PY_ENTRY_SHIM,
        .shim_owner = 3,
        .str_shift = 2,
        .interp_head = 808, .interp_next = 7272, .interp_threads = 7344,
        .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_thread_id = 152, .ts_native_id = 160, .ts_frame = 72,
        .frame_base = 0, .frame_len = 75,
        .frame_back = 8, .frame_code = 0, .frame_instr = 56, .frame_owner = 74,
        .code_type = 8, .code_firstline = 68, .code_filename = 112, .code_name = 120, .code_qualname = 128,
        .code_linetable = 136, .code_start = 208, .code_version = 92,
        .bytes_size = 16, .bytes_data = 32,
        .str_length = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56,
        .gil = 16, .gil_locked = 16, .gil_holder = 8, .gil_size = 208,
    },
};
/* clang-format on */

const struct py_layout *py_layout_of(unsigned version)
{
    if (version < PY_VERSION_MIN || version > PY_VERSION_MAX)
        return NULL;
    return &layouts[version - PY_VERSION_MIN];
}

/* Where a field stands among the 64-bit words of _Py_DebugOffsets (Include/internal/pycore_runtime.h of 3.13,
 * pycore_debug_offsets.h of 3.14), and the least and greatest value that fits what the walkers read. */
struct word {
    uint16_t word, min, max;
    uint16_t to; /* offsetof(struct py_layout, ...) */
};

#define W(word, field, min, max)                                                                             \
    {                                                                                                        \
        word, min, max, offsetof(struct py_layout, field)                                                    \
    }
#define TS_MAX    (PY_TSTATE_READ - 8)
#define FRAME_MAX (PY_CHUNK / 2 - 8)

static const struct word words_313[] = {
    W(5, interp_head, 8, 65535),      W(8, interp_next, 0, 65535),
    W(9, interp_threads, 0, 65535),   W(14, gil, 0, 65535),
    W(20, ts_prev, 0, TS_MAX),        W(21, ts_next, 0, TS_MAX),
    W(22, ts_interp, 0, TS_MAX),      W(23, ts_frame, 0, TS_MAX),
    W(24, ts_thread_id, 0, TS_MAX),   W(25, ts_native_id, 0, TS_MAX),
    W(29, frame_back, 0, FRAME_MAX),  W(30, frame_code, 0, FRAME_MAX),
    W(31, frame_instr, 0, FRAME_MAX), W(33, frame_owner, 0, FRAME_MAX),
    W(35, code_filename, 24, 512),    W(36, code_name, 24, 512),
    W(37, code_qualname, 24, 512),    W(38, code_linetable, 24, 512),
    W(39, code_firstline, 24, 512),   W(43, code_start, 24, 1024),
    W(45, code_type, 0, 64),          W(65, bytes_size, 8, 64),
    W(66, bytes_data, 8, 128),        W(68, str_state, 8, 48),
    W(69, str_length, 8, 48),         W(70, str_ascii, 24, 128),
};

static const struct word words_314[] = {
    W(5, interp_head, 8, 65535),      W(8, interp_next, 0, 65535),
    W(9, interp_threads, 0, 65535),   W(15, gil, 0, 65535),
    W(23, ts_prev, 0, TS_MAX),        W(24, ts_next, 0, TS_MAX),
    W(25, ts_interp, 0, TS_MAX),      W(26, ts_frame, 0, TS_MAX),
    W(27, ts_thread_id, 0, TS_MAX),   W(28, ts_native_id, 0, TS_MAX),
    W(32, frame_back, 0, FRAME_MAX),  W(33, frame_code, 0, FRAME_MAX),
    W(34, frame_instr, 0, FRAME_MAX), W(36, frame_owner, 0, FRAME_MAX),
    W(38, frame_tlbc, 0, FRAME_MAX),  W(40, code_filename, 24, 512),
    W(41, code_name, 24, 512),        W(42, code_qualname, 24, 512),
    W(43, code_linetable, 24, 512),   W(44, code_firstline, 24, 512),
    W(48, code_start, 24, 1024),      W(49, code_tlbc, 0, 1024),
    W(51, code_type, 0, 64),          W(75, bytes_size, 8, 64),
    W(76, bytes_data, 8, 128),        W(78, str_state, 8, 48),
    W(79, str_length, 8, 48),         W(80, str_ascii, 24, 128),
};

enum { WORDS_313 = 73, WORDS_314 = 95 };

static uint64_t word_at(const void *p, size_t i)
{
    uint64_t v;

    memcpy(&v, (const char *)p + 8 * i, sizeof(v));
    return v;
}

unsigned py_offsets_version(const void *p, size_t n)
{
    if (n < 24 || memcmp(p, "xdebugpy", PY_OFFSETS_COOKIE_LEN) != 0 || word_at(p, 1) >> 32)
        return 0;
    return (unsigned)word_at(p, 1) >> 16;
}

static int fill(struct py_layout *out, const void *p, const struct word *w, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = word_at(p, w[i].word);
        uint16_t v16 = (uint16_t)v;

        if (v < w[i].min || v > w[i].max)
            return err_set(e, "word %u of its _Py_DebugOffsets is %#llx", w[i].word, (unsigned long long)v);
        memcpy((char *)out + w[i].to, &v16, sizeof(v16));
    }
    return 0;
}

/* The GIL's fields are stated from the interpreter's start; layouts have them from the GIL's own. */
static int fill_gil(struct py_layout *out, const void *p, size_t first, struct err *e)
{
    uint64_t base = word_at(p, first), locked = word_at(p, first + 2) - base,
             holder = word_at(p, first + 3) - base;

    if (locked > 256 || locked != holder + 8) /* py_gil_read() takes both in one piece */
        return err_set(e, "words %zu to %zu of its _Py_DebugOffsets do not describe a GIL", first, first + 3);
    out->gil_locked = (uint16_t)locked;
    out->gil_holder = (uint16_t)holder;
    out->gil_size =
        (uint16_t)(locked + 192); /* switch_number, then two condition variables and two mutexes */
    return 0;
}

/* Do the reads of one piece (bpf/py.h) cover what is looked for? */
static int covered(const struct py_layout *l)
{
    uint16_t ends[] = {l->code_firstline, l->code_filename, l->code_name, l->code_qualname,
                       l->code_linetable};

    if (l->interp_threads < l->interp_next || l->interp_threads + 8 > l->interp_next + PY_INTERP_READ)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (ends[i] < l->code_type || ends[i] + 8 > l->code_type + PY_CODE_READ)
            return 0;
    return 1;
}

int py_layout_from_offsets(struct py_layout *out, const void *p, size_t n, struct err *e)
{
    unsigned version = py_offsets_version(p, n);
    size_t need = version == 0x030e ? WORDS_314 * 8 : WORDS_313 * 8;
    int failed;

    if (version < 0x030d || version > PY_VERSION_MAX)
        return err_set(e, "CPython %u.%u is not a version that wprof knows (3.8 to 3.14)", version >> 8,
                       version & 255);
    if (n < need)
        return err_set(e, "its _Py_DebugOffsets is cut off");
    *out = *py_layout_of(version);
    if (version == 0x030e)
        failed = fill(out, p, words_314, ARRAY_SIZE(words_314), e) || fill_gil(out, p, 16, e);
    else
        failed = fill(out, p, words_313, ARRAY_SIZE(words_313), e) || fill_gil(out, p, 15, e);
    if (failed)
        return -1;
    if (word_at(p, 2)) {
        out->flags |= PY_LAYOUT_FREE_THREADED;
        if (version == 0x030e)
            out->str_shift = 8; /* `interned` became a byte of its own */
    } else {
        out->frame_tlbc = out->code_tlbc = 0;
    }
    out->frame_len = out->frame_owner + 1;
    if (out->frame_len < out->frame_instr + 8)
        out->frame_len = out->frame_instr + 8;
    out->code_version = out->code_firstline + 24; /* six ints on, in Include/cpython/code.h */
    out->str_compact = out->str_ascii + 16;       /* char *utf8 and its length follow */
    if (!covered(out))
        return err_set(e, "its _Py_DebugOffsets has fields further apart than any build");
    return 0;
}
