#include "cli/plan/inert_limits.h"

#include "accuracy/error_bar_record.h"
#include "base/garray_access.h"
#include "cli/output/terminal.h"
#include "strategies/search/error_bar_key.h"

static const RhConstraint *all_of(const GArray *constraints)
{
    return RH_ELEMENTS(constraints, RhConstraint);
}

/* The first on memory; NULL: none. */
static const RhConstraint *limit_of(const GArray *constraints)
{
    for (guint i = 0; i < constraints->len; i++)
        if (!all_of(constraints)[i].knob)
            return &all_of(constraints)[i];
    return NULL;
}

static void tell_beyond(const RhConstraint *limit, double capacity_bytes)
{
    if (!limit->in_bytes || limit->value <= capacity_bytes)
        return;
    g_autofree char *word = rh_constraint_text(limit);
    g_autofree char *has = rh_quantity_format(capacity_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *line = g_strdup_printf(
        "note: --limit %s is more than the %s of a GPU; it acts like memory<=100%%: "
        "all layouts that fit are ranked, however likely they run out",
        word, has);
    rh_terminal_hint(line);
}

/* Returns why --risk has no effect; NULL: it has one. Caller frees. */
static char *idle_risk(const RhProblem *c, const GArray *constraints)
{
    const RhConstraint *limit = limit_of(constraints);
    if (limit) {
        g_autofree char *word = rh_constraint_text(limit);
        return g_strdup_printf("has no effect: --limit %s takes precedence", word);
    }
    RhEvidenceKey like = rh_evidence_key_of(c);
    return rh_record_odds(rh_record_shipped(), &like)
               ? NULL
               : g_strdup("has no effect: no comparable measured runs are known");
}

void rh_inert_limits_tell(const RhArguments *a, const RhProblem *c, const GArray *constraints)
{
    const RhConstraint *limit = limit_of(constraints);
    if (limit)
        tell_beyond(limit, rh_train_memory_capacity(c));
    if (!rh_arguments_given(a, "--risk"))
        return;
    g_autofree char *why = idle_risk(c, constraints);
    g_autofree char *line =
        why ? g_strdup_printf("note: --risk %.4g%% %s", 100 * a->risk_frac, why) : NULL;
    if (line)
        rh_terminal_hint(line);
}
