/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/dwarf.h"

#include "base/log.h"
#include "base/vec.h"
#include "platform/elfsym.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#define TREE_DEPTH_MAX 256 /* of nested entries: real code stays below 60 */

/* One function, real or inlined, around an address; `outer` is the index of the one around it + 1. */
struct scope {
    Dwarf_Die die;
    uint32_t outer;
};

struct placed {
    Dwarf_Off unit; /* the offset of the unit's first entry */
    uint32_t addr;  /* index in addrs */
};

struct lookup {
    Dwarf *dw;
    const uint64_t *addrs;
    size_t n;
    VEC(struct placed) placed;
    VEC(struct scope) scopes;
    uint32_t *innermost; /* [n]: index in scopes + 1, 0: none */
    uint32_t entries_left;
    dwarf_sink *sink;
    void *ctx;
};

/* Addresses lo..hi-1 of the sorted array that is looked at. */
struct span {
    size_t lo, hi;
};

/* ---- which unit an address belongs to ---- */

static void place(struct lookup *l, size_t i, Dwarf_Off unit)
{
    *vec_push(&l->placed) = (struct placed){unit, (uint32_t)i};
}

/* By .debug_aranges, which GCC writes and clang does not. Returns how many addresses it knew; marks them in
 * `known`. */
static size_t place_by_aranges(struct lookup *l, uint8_t *known)
{
    Dwarf_Aranges *aranges;
    size_t count, found = 0;

    if (dwarf_getaranges(l->dw, &aranges, &count))
        return 0;
    for (size_t i = 0; i < l->n; i++) {
        Dwarf_Arange *a = dwarf_getarange_addr(aranges, l->addrs[i]);
        Dwarf_Off unit;

        if (!a || dwarf_getarangeinfo(a, NULL, NULL, &unit))
            continue;
        place(l, i, unit);
        known[i] = 1;
        found++;
    }
    return found;
}

static void place_in_unit(struct lookup *l, uint8_t *known, Dwarf_Die *unit)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0)
        for (size_t i = addr_lower(l->addrs, l->n, start); i < l->n && l->addrs[i] < end; i++)
            if (!known[i]) {
                place(l, i, dwarf_dieoffset(unit));
                known[i] = 1;
            }
}

static void place_by_units(struct lookup *l, uint8_t *known)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;

    while (!dwarf_get_units(l->dw, cu, &cu, NULL, &type, &die, NULL))
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            place_in_unit(l, known, &die);
}

static int by_unit(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void place_all(struct lookup *l)
{
    uint8_t *known = mem_calloc(l->n, 1);

    if (place_by_aranges(l, known) < l->n)
        place_by_units(l, known);
    free(known);
    if (l->placed.n)
        qsort(l->placed.a, l->placed.n, sizeof(*l->placed.a), by_unit);
}

/* ---- functions around the addresses of one unit ---- */

struct unit {
    Dwarf_Die die;
    const struct placed *placed; /* its addresses, ascending */
    const uint64_t *addrs;       /* the same, as numbers */
    size_t n;
};

/* Functions are not inlined into each other by having the same code: aliases, and those that a linker folded,
 * are one, by the name that came first. */
static int enter(struct lookup *l, const struct unit *u, Dwarf_Die *die, struct span within)
{
    int is_real = dwarf_tag(die) == DW_TAG_subprogram, hit = 0;
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        size_t i = within.lo + addr_lower(u->addrs + within.lo, within.hi - within.lo, start);

        for (; i < within.hi && u->addrs[i] < end; i++) {
            uint32_t *top = &l->innermost[u->placed[i].addr];

            if (*top && l->scopes.a[*top - 1].die.addr == die->addr) /* overlapping ranges of one entry */
                continue;
            if (*top && is_real)
                continue;
            hit = 1;
            if (!l->entries_left)
                return hit;
            l->entries_left--;
            *vec_push(&l->scopes) = (struct scope){*die, *top};
            *top = (uint32_t)l->scopes.n;
        }
    }
    return hit;
}

/* The part of `within` that lies between an entry's lowest and highest address: all where it does not say. */
static struct span narrow(const struct unit *u, Dwarf_Die *die, struct span within)
{
    Dwarf_Addr base, start, end, low = UINT64_MAX, high = 0;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        low = start < low ? start : low;
        high = end > high ? end : high;
    }
    if (!high)
        return within;
    return (struct span){within.lo + addr_lower(u->addrs + within.lo, within.hi - within.lo, low),
                         within.lo + addr_lower(u->addrs + within.lo, within.hi - within.lo, high)};
}

/* Does entry `tag` hold functions, though it is none? Rust has them inside of types, clang inside of
 * namespaces. */
static int holds_functions(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return 1;
    default:
        return 0;
    }
}

static void visit_children(struct lookup *l, const struct unit *u, Dwarf_Die *parent, struct span within,
                           int depth)
{
    Dwarf_Die die;

    if (depth > TREE_DEPTH_MAX || within.lo >= within.hi || dwarf_child(parent, &die))
        return;
    do {
        int tag = dwarf_tag(&die);

        if (!l->entries_left)
            return;
        l->entries_left--;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
            if (enter(l, u, &die, within))
                visit_children(l, u, &die, narrow(u, &die, within), depth + 1);
        } else if (tag == DW_TAG_lexical_block) {
            visit_children(l, u, &die, narrow(u, &die, within), depth + 1);
        } else if (holds_functions(tag)) {
            visit_children(l, u, &die, within, depth + 1);
        }
    } while (!dwarf_siblingof(&die, &die));
}

/* ---- names ---- */

static const char *function_name(Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
        name = dwarf_formstring(&attr);
    return name ? name : dwarf_diename(die);
}

/* Where an inlined function was called from. */
static void call_site(Dwarf_Die *inlined, Dwarf_Files *files, size_t files_n, struct dwarf_name *name)
{
    Dwarf_Attribute attr;
    Dwarf_Word v;

    if (files && dwarf_attr(inlined, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &v) && v < files_n)
        name->file = dwarf_filesrc(files, v, NULL, NULL);
    if (dwarf_attr(inlined, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &v) && v <= UINT32_MAX)
        name->line = (uint32_t)v;
}

static int line_of(Dwarf_Die *unit, uint64_t addr, struct dwarf_name *name)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, addr);
    int n;

    if (!line)
        return -1;
    name->file = dwarf_linesrc(line, NULL, NULL);
    name->line = !dwarf_lineno(line, &n) && n > 0 ? (uint32_t)n : 0;
    return 0;
}

/* Outermost first. Scopes are chained from the innermost out, so that the array is filled from its end.
 * Returns how many there are, which may be more than there is room for: then the innermost ones are left out.
 */
static size_t scope_names(struct lookup *l, uint32_t innermost, Dwarf_Files *files, size_t files_n,
                          struct dwarf_name names[DWARF_DEPTH_MAX])
{
    size_t depth = 0, k;

    for (uint32_t s = innermost; s; s = l->scopes.a[s - 1].outer)
        depth++;
    k = depth;
    for (uint32_t s = innermost; s; s = l->scopes.a[s - 1].outer) {
        Dwarf_Die *die = &l->scopes.a[s - 1].die;

        if (--k < DWARF_DEPTH_MAX)
            names[k].func = function_name(die);
        if (k && k <= DWARF_DEPTH_MAX && dwarf_tag(die) == DW_TAG_inlined_subroutine)
            call_site(die, files, files_n, &names[k - 1]);
    }
    return depth;
}

static void name_address(struct lookup *l, struct unit *u, size_t i, Dwarf_Files *files, size_t files_n)
{
    uint32_t index = u->placed[i].addr;
    struct dwarf_name names[DWARF_DEPTH_MAX] = {{0}};
    size_t depth = scope_names(l, l->innermost[index], files, files_n, names), n = depth;
    int lined = 0;

    if (depth > DWARF_DEPTH_MAX)
        n = DWARF_DEPTH_MAX;
    else
        lined = !line_of(&u->die, u->addrs[i], &names[n ? n - 1 : 0]);
    if (n || lined)
        l->sink(l->ctx, index, names, n ? n : 1);
}

static void do_unit(struct lookup *l, const struct placed *placed, size_t n, int inlines)
{
    struct unit u = {.placed = placed, .n = n};
    Dwarf_Files *files = NULL;
    uint64_t *addrs;
    size_t files_n = 0;
    Dwarf_Die sub;
    uint8_t type;

    if (!dwarf_offdie(l->dw, placed[0].unit, &u.die))
        return;
    addrs = mem_alloc(n * sizeof(*addrs));
    for (size_t i = 0; i < n; i++)
        addrs[i] = l->addrs[placed[i].addr];
    u.addrs = addrs;
    if (inlines) {
        Dwarf_Die *tree = &u.die;

        /* A skeleton's entries are in its .dwo; libdw finds that by the path the compiler left. */
        if (!dwarf_cu_info(u.die.cu, NULL, &type, NULL, &sub, NULL, NULL, NULL) && type == DW_UT_skeleton &&
            sub.cu)
            tree = &sub;
        visit_children(l, &u, tree, (struct span){0, n}, 0);
        if (dwarf_getsrcfiles(&u.die, &files, &files_n))
            files = NULL;
    }
    for (size_t i = 0; i < n; i++)
        name_address(l, &u, i, files, files_n);
    vec_clear(&l->scopes);
    free(addrs);
}

static void do_units(struct lookup *l, int inlines)
{
    for (size_t i = 0, next; i < l->placed.n; i = next) {
        for (next = i + 1; next < l->placed.n && l->placed.a[next].unit == l->placed.a[i].unit;)
            next++;
        do_unit(l, &l->placed.a[i], next - i, inlines);
    }
    if (!l->entries_left)
        log_warn("more DWARF than is read for one file: some inlined functions are not shown");
}

int dwarf_lookup(int fd, const uint64_t *addrs, size_t n, int inlines, dwarf_sink *sink, void *ctx,
                 struct err *e)
{
    struct lookup l = {.addrs = addrs, .n = n, .entries_left = DWARF_ENTRIES_MAX, .sink = sink, .ctx = ctx};

    l.dw = dwarf_begin(fd, DWARF_C_READ);
    if (!l.dw)
        return err_set(e, "DWARF: %s", dwarf_errmsg(-1));
    l.innermost = mem_calloc(n, sizeof(*l.innermost));
    place_all(&l);
    do_units(&l, inlines);
    free(l.innermost);
    vec_release(&l.placed);
    vec_release(&l.scopes);
    dwarf_end(l.dw);
    return 0;
}
