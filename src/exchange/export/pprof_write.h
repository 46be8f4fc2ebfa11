/* SPDX-License-Identifier: Apache-2.0 */
/* What all profiles of pprof that are written here share: strings, functions, types, what they are of. */
#ifndef WPROF_EXCHANGE_PPROF_WRITE_H
#define WPROF_EXCHANGE_PPROF_WRITE_H

#include "base/buf.h"
#include "base/hash.h"
#include "model/session.h"
#include "model/strtab.h"

/* Numbers of fields: proto/profile.proto of github.com/google/pprof. */
enum pprof_profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
};
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum pprof_mapping_field {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_HAS_FUNCTIONS,
    MAPPING_HAS_FILES,
    MAPPING_HAS_LINES,
    MAPPING_HAS_INLINES,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };

struct pprof_function {
    uint32_t name, file;
};

/* A profile in the making. Release it; `out` is borrowed. Strings are interned, their ids serve as numbers.
 */
struct pprof {
    struct buf *out;
    struct strtab strings;
    VEC(struct pprof_function) functions; /* id is index + 1 */
    struct index function_index;
};

void pprof_release(struct pprof *w);
uint32_t pprof_text(struct pprof *w, const char *s);
const char *pprof_unit(const char *unit); /* of a metric: "nanoseconds", "bytes", "count" */
void pprof_type(struct pprof *w, unsigned field, const char *name, const char *unit);
/* samples/count and, where a sample stands for `period` ns (0: not known), cpu/nanoseconds, which pprof shows
 * where nothing else is asked for: as Go's profiles have them. */
void pprof_types_of_samples(struct pprof *w, uint64_t period);
/* The line of a location that is open: a function of that name; line 0: not known. */
void pprof_line(struct pprof *w, const char *name, const char *file, uint32_t line);
/* Functions, what it is of, strings: behind everything else. */
void pprof_end(struct pprof *w, const struct meta *m);

uint64_t pprof_period(const struct meta *m); /* ns that a sample stands for; 0: not known */

#endif
