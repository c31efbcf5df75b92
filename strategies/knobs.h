#pragma once
/* Knobs of a layout: one table, from which its text form, JSON, CSV, titles, columns of the table
 * of plans, --fix, --limit, --what-if, help, completions and the space of the search are derived.
 * The rows are in knob_rows.h. */
#include "strategies/layout.h"
#include "strategies/training_problem.h"

typedef enum { RH_COLUMN_NONE, RH_COLUMN_ALWAYS, RH_COLUMN_VARIES } RhKnobColumn;

/* Tables that layouts of a search may share, so that each is computed once
 * (search/bounds/bound_cache.h). */
typedef enum {
    RH_COMMON_ITEMS = 1 << 0,   /* a layer's tasks, bytes and parameters, except a tied head's */
    RH_COMMON_SPLIT = 1 << 1,   /* layers of each model chunk */
    RH_COMMON_SHAPE = 1 << 2,   /* order of a stage's slots, for a number of micro-batches */
    RH_COMMON_NET = 1 << 3,     /* groups and their placement */
    RH_COMMON_SCRIPTS = 1 << 4, /* communication around layers, for one micro-batch or more */
} RhCommon;

/* Places in the table. */
enum {
#define RH_KNOB(type, field, ...) RH_KNOB_AT_##field,
#include "strategies/knob_rows.h"
#undef RH_KNOB
    RH_KNOB_AT_LAST
};
#define RH_KNOB_BIT(field) (UINT64_C(1) << RH_KNOB_AT_##field)
/* The row of a field of RhLayout: whoever means one knob names the field, as its key stands in
 * the row alone. */
#define RH_KNOB_OF(field) (&rh_knobs[RH_KNOB_AT_##field])

/* Where RhKnob.part parts the whole space: knobs before CHUNKS make a cut, of which a layer's
 * seconds are known but for what is recomputed; then chunks, what replicas share out, what is
 * recomputed and how ranks are numbered. */
#define RH_PART_CHUNKS    60
#define RH_PART_SHARES    70
#define RH_PART_RECOMPUTE 80

typedef struct RhKnob {
    const char *key;          /* in the text form and on the command line: "mb" */
    const char *json;         /* in JSON and CSV, where that differs: "microbatch" */
    const char *alias;        /* an older key, read and never written; NULL: none */
    size_t offset;            /* in RhLayout */
    size_t size;              /* of int32_t, an enum (both 4), or bool (1) */
    int32_t low, high;        /* values there are, both included */
    int32_t otherwise;        /* the default; below `low`: still to be derived, and has no text */
    const char *const *names; /* value -> name; NULL: a number */
    /* Beside these, sums of words: "layernorm+moe_act", the i-th word being bit i; NULL: none. Those of
     * the first values stand for themselves alone. */
    const char *const *words;
    /* layers of each chunk instead of one value, which counts them; `names`: what a count of 0 is
     * called, of -1 */
    bool list;
    size_t entries; /* of a list: in RhLayout */
    bool quiet;     /* at its default it is left out of texts and JSON, as by results
                                 that are older than the knob */
    bool degree;    /* of the grid of ranks: "tp8 pp2" in titles */
    bool variant;   /* layouts that differ in it alone are of one kind */
    /* RhCommon: what is the same whatever its value. A knob that names nothing here is taken to
     * change everything, so that forgetting costs time and is never wrong. */
    uint32_t keeps;

    /* Returns its words in a title, which the caller frees; NULL (the function or the result):
     * none. */
    char *(*title)(const struct RhKnob *knob, const RhLayout *layout);
    /* In the table of plans: always, or where plans differ in it. */
    RhKnobColumn column;
    const char *head; /* NULL: the key */
    const char
        *legend; /* said below a table with its column: "kv: how ..."; NULL: none is needed */
    /* Returns its cell, which the caller frees; NULL (the function): its value. "-": no meaning there. */
    char *(*cell)(const struct RhKnob *knob, const RhLayout *layout);

    /* In the space of layouts: knobs with `next` are walked over, those of a lower `walk` outside.
     * `next` sets *value (low - 1 at first) to the next larger one to try, given those of the
     * knobs outside; false: there is none. */
    int32_t walk;
    bool (*next)(const struct RhKnob *knob, const RhProblem *c, const RhLayout *layout,
                 int32_t *value);
    /* RH_KNOB_BIT of those that `next` looks at, where its answers take long: the values are then listed
     * once for all that these say. 0: they are asked for each time. */
    uint64_t given;
    /* In the whole space (search/space.h): knobs with `next` or `wide` are walked over, those of a lower `part` outside
     * (RH_PART_CHUNKS); `wide` takes the place of `next`. */
    int32_t part;
    bool (*wide)(const struct RhKnob *knob, const RhProblem *c, const RhLayout *layout,
                 int32_t *value);
    /* Larger values still, which no search goes through unasked; as `next`. NULL: there are none. */
    bool (*beyond)(const struct RhKnob *knob, const RhProblem *c, const RhLayout *layout,
                   int32_t *value);

    /* What of it no search goes through unasked, NULL: nothing; layouts of that in the place of one that was found, the
     * gentlest first (step 0, 1, ...), false: no more; and why a layout has not even one: it "recomputes nothing". */
    const char *outside;
    bool (*outside_next)(const RhProblem *c, RhLayout *layout, int32_t step);
    const char *outside_lacks;
    /* `outside_next` takes the place of what is recomputed: in the whole space where a framework's rules let it, so that
     * its launch says it. */
    bool instead;

    const char *example, *about; /* for `show strategies` */
} RhKnob;

/* Rows at most, the one without a key included; knobs.c does not compile with more. */
#define RH_KNOBS_MAX 64

/* In the order of the text form; the last has no key. */
extern const RhKnob rh_knobs[];
/* Return the knobs that a search chooses last: recomputation, its number of layers, rank order. */
static inline const RhKnob *rh_knob_recompute(void)
{
    return RH_KNOB_OF(recompute);
}
static inline const RhKnob *rh_knob_recomputed_layers(void)
{
    return RH_KNOB_OF(recomputed_layers_count);
}
static inline const RhKnob *rh_knob_microbatch(void)
{
    return RH_KNOB_OF(microbatch);
}
static inline const RhKnob *rh_knob_order(void)
{
    return RH_KNOB_OF(order);
}
/* RH_KNOB_BIT of those that the whole space walks over before this part. */
uint64_t rh_knobs_before(int32_t part);

/* NULL when no key is `length` bytes of `key`. */
const RhKnob *rh_knob_find(const char *key, size_t length);
/* Every key, NULL-ended. */
const char *const *rh_knob_keys(void);
const char *rh_knob_json_key(const RhKnob *knob);
bool rh_knob_is_switch(const RhKnob *knob);
/* Does the layout say nothing of it: quiet and at its default, or even stages? */
bool rh_knob_is_silent(const RhKnob *knob, const RhLayout *layout);

/* The value: a number, or the place among `names`; of a list how many it has. */
int32_t rh_knob_value(const RhKnob *knob, const RhLayout *layout);
void rh_knob_store(const RhKnob *knob, RhLayout *layout, int32_t value);
/* "8", "full"; caller frees. */
char *rh_knob_value_text(const RhKnob *knob, int32_t value);
/* Its value, "8", "full", "15-16x6-15"; caller frees. NULL: the text form leaves it out. */
char *rh_knob_text(const RhKnob *knob, const RhLayout *layout);
/* Its cell in the table of plans; caller frees. */
char *rh_knob_cell(const RhKnob *knob, const RhLayout *layout);
/* Reads a value's text into the layout. RH_ERROR_USAGE, with the legal values; *at: the byte at
 * fault. */
bool rh_knob_read(const RhKnob *knob, const char *text, RhLayout *layout, size_t *at,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
