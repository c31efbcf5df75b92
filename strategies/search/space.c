/* The space of layouts: every canonical legal one, in a fixed order. */
#include <string.h>

#include "base/error.h"
#include "strategies/search/plan.h"

typedef struct {
    const RhCase *c;
    const RhConstraint *constraints;
    int32_t constraints_count;
    RhDeadline deadline;
    uint32_t looks; /* at the clock now and then */
    bool late;
    GArray *out;
} Walk;

static const char *const constraint_keys[] = {"tp",  "pp",    "dp",     "cp",        "ep",
                                              "vpp", "mb",    "zero",   "recompute", "schedule",
                                              "sp",  "order", "memory", NULL};

static double value_of(const RhLayout *l, const char *key)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {{"tp", l->tp},
                {"pp", l->pp},
                {"dp", l->dp},
                {"cp", l->cp},
                {"ep", l->ep},
                {"vpp", l->vpp},
                {"mb", l->microbatch},
                {"zero", l->zero},
                {"recompute", l->recompute},
                {"schedule", l->schedule},
                {"sp", l->sequence_parallel},
                {"order", l->order}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].value;
    g_return_val_if_reached(0);
}

static bool allowed(const Walk *w, const RhLayout *l)
{
    for (int32_t i = 0; i < w->constraints_count; i++) {
        const RhConstraint *k = &w->constraints[i];
        if (strcmp(k->key, "memory") == 0)
            continue;
        double v = value_of(l, k->key);
        if ((k->relation == 0 && v != k->value) || (k->relation < 0 && v > k->value) ||
            (k->relation > 0 && v < k->value))
            return false;
    }
    return true;
}

static void consider(Walk *w, const RhLayout *l)
{
    RhLayout canonical = rh_train_canonical(w->c, l);
    if (rh_layout_equal(&canonical, l) && allowed(w, l) && rh_train_legal(w->c, l, NULL))
        g_array_append_val(w->out, *l);
}

static bool is_late(Walk *w)
{
    if (++w->looks % 64 == 0)
        w->late |= rh_deadline_passed(w->deadline);
    return w->late;
}

/* Knobs that neither place ranks nor count micro-batches. */
static void walk_switches(Walk *w, RhLayout l)
{
    if (is_late(w))
        return;
    for (l.zero = 0; l.zero <= 3; l.zero++)
        for (int recompute = 0; recompute < RH_RECOMPUTE_LAST; recompute++)
            for (int sp = 0; sp <= 1; sp++)
                for (int order = RH_ORDER_TP_DP_PP; order < RH_ORDER_LAST; order++) {
                    l.recompute = (RhRecompute)recompute;
                    l.sequence_parallel = sp != 0;
                    l.order = (RhOrder)order;
                    consider(w, &l);
                }
}

static void walk_schedules(Walk *w, RhLayout l)
{
    int32_t layers = w->c->model->layers_count;
    for (int schedule = RH_SCHEDULE_GPIPE; schedule <= RH_SCHEDULE_1F1B; schedule++) {
        l.schedule = (RhScheduleKind)schedule;
        l.vpp = 1;
        walk_switches(w, l);
    }
    l.schedule = RH_SCHEDULE_INTERLEAVED;
    for (l.vpp = 2; l.pp > 1 && l.pp * l.vpp <= layers + 2 && !w->late; l.vpp++)
        walk_switches(w, l);
}

/* Every divisor of a replica's samples: which of them fit is the memory stage's to say. */
static void walk_microbatches(Walk *w, RhLayout l)
{
    int64_t samples = w->c->job.global_batch / l.dp;
    if (w->c->job.global_batch % l.dp != 0)
        return;
    for (int64_t size = 1; size <= MIN(samples, RH_LAYOUT_DEGREE_MAX) && !w->late; size++)
        if (samples % size == 0) {
            l.microbatch = (int32_t)size;
            walk_schedules(w, l);
        }
}

GArray *rh_space_list_until(const RhCase *c, const RhConstraint *constraints, int32_t count,
                            RhDeadline deadline)
{
    Walk w = {.c = c,
              .constraints = constraints,
              .constraints_count = count,
              .deadline = deadline,
              .out = g_array_new(FALSE, TRUE, sizeof(RhLayout))};
    RhLayout l = rh_layout_default();
    for (l.tp = 1; l.tp <= MIN(c->platform->gpus_per_node, c->job.gpus); l.tp++)
        for (l.pp = 1; l.pp <= MIN(c->model->layers_count + 2, c->job.gpus / l.tp); l.pp++) {
            if (c->job.gpus % (l.tp * l.pp) != 0)
                continue;
            l.dp = c->job.gpus / (l.tp * l.pp);
            walk_microbatches(&w, l);
        }
    return w.out;
}

GArray *rh_space_list(const RhCase *c, const RhConstraint *constraints, int32_t count)
{
    return rh_space_list_until(c, constraints, count, (RhDeadline){0});
}

/* --- constraints --- */

static bool read_value(const char *key, const char *text, double *value, GError **error)
{
    if (strcmp(key, "memory") == 0)
        return rh_share_parse(text, value, error);
    if (strchr(text, ','))
        return rh_fail(error, RH_ERROR_USAGE,
                       "\"%s=%s\" is more than one constraint\nhelp: repeat the option, a key each",
                       key, text);
    RhLayout l = rh_layout_default();
    g_autofree char *item = g_strdup_printf("%s=%s", key, text);
    if (!rh_layout_parse(item, &l, error))
        return false;
    *value = value_of(&l, key);
    return true;
}

bool rh_constraint_parse(const char *text, bool is_limit, RhConstraint *out, GError **error)
{
    size_t length = strcspn(text, "<>=");
    g_autofree char *word = g_strstrip(g_strndup(text, length));
    const char *rest = text + length;
    int relation = g_str_has_prefix(rest, "<=") ? -1 : g_str_has_prefix(rest, ">=") ? 1 : 0;
    RhConstraint parsed = {.relation = relation};
    if (*rest == 0 || (relation == 0 && *rest != '='))
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\" is not a constraint\nhelp: write KEY=VALUE%s",
                       text, is_limit ? ", KEY<=VALUE or KEY>=VALUE" : "");
    for (int i = 0; constraint_keys[i]; i++)
        if (strcmp(constraint_keys[i], word) == 0)
            parsed.key = constraint_keys[i];
    if (!parsed.key) {
        const char *near = rh_nearest_name(word, constraint_keys);
        return rh_fail(error, RH_ERROR_USAGE, "unknown layout key \"%s\" in \"%s\"%s%s%s", word,
                       text, near ? "\nhelp: a key with a similar name exists: \"" : "",
                       near ? near : "", near ? "\"" : "");
    }
    if (!is_limit && (relation != 0 || strcmp(parsed.key, "memory") == 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "\"%s\" does not fix a layout key\nhelp: use --limit %s", text, text);
    g_autofree char *value = g_strstrip(g_strdup(rest + (relation ? 2 : 1)));
    if (relation >= 0 && strcmp(parsed.key, "memory") == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "\"%s\": memory has only an upper limit\nhelp: write memory<=%s", text,
                       value);
    if (is_limit && relation == 0)
        parsed.relation = -1;
    if (!read_value(parsed.key, value, &parsed.value, error)) {
        if (error && *error)
            (*error)->code = RH_ERROR_USAGE;
        return false;
    }
    *out = parsed;
    return true;
}
