#pragma once
/* What the readers of requests share; only requests_*.c include it. */
#include "base/text/line_reader.h"
#include "workloads/requests/requests.h"

typedef enum {
    RH_FIELD_INPUT,
    RH_FIELD_OUTPUT,
    RH_FIELD_TIME,
    RH_FIELD_SESSION,
    RH_FIELD_PRIORITY,
    RH_FIELD_HASHES,
    RH_FIELD_MARK, /* tells this format from others; not read */
    RH_FIELDS_COUNT,
} RhRequestField;

typedef enum { RH_CLOCK_S, RH_CLOCK_MS, RH_CLOCK_NS, RH_CLOCK_DATE } RhClock;

/* A format of traces: what its columns (CSV) or keys (JSON lines) are called. */
typedef struct {
    const char *name;
    bool json, csv;
    const char *columns[RH_FIELDS_COUNT]; /* NULL: it has none */
    RhClock clock;
    int32_t block_tokens; /* of one of its hashes */
} RhRequestFormat;

/* A value in a line: text from `from`, NUL-ended; of JSON without the quotes of a string. */
typedef struct {
    const char *from; /* NULL: not there, or null */
    int32_t column;   /* where it begins, in bytes, from 1 */
} RhCell;

/* What is wrong with a line, and where: nothing is when `what` is NULL. */
typedef struct {
    int32_t column;
    char *what; /* "...\nhelp: ..."; owned */
} RhFlaw;

/* The format that knows the most of these names, among those whose lengths are there; NULL: none. */
const RhRequestFormat *rh_request_format(const char *const *names, bool json);
/* The format with the most of these names, though lengths lack; NULL: none has any. */
const RhRequestFormat *rh_request_format_near(const char *const *names, bool json);

/* Parts a line of CSV in place; a quoted cell may hold commas. Returns how many there are, or -1 with
 * a flaw. */
int32_t rh_request_cells(char *line, RhCell *cells, int32_t most, RhFlaw *flaw);
/* Parts a line that is one JSON object in place: the values of `keys` (NULL entries are passed over)
 * into `cells`, others are passed over; an array as its text. False with a flaw. */
bool rh_request_object(char *line, const char *const *keys, RhCell *cells, int32_t count,
                       RhFlaw *flaw);
/* The keys of such a line, NULL-ended; NULL with a flaw. Caller frees with g_strfreev. */
char **rh_request_keys(const char *line, RhFlaw *flaw);

bool rh_flaw(RhFlaw *flaw, int32_t column, const char *format, ...) G_GNUC_PRINTF(3, 4);
