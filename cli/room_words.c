#include "cli/room_words.h"

#include <math.h>

#include "base/record.h"
#include "cli/terminal.h"
#include "strategies/search/likeness.h"

static const RhConstraint *all_of(const GArray *constraints)
{
    return (const RhConstraint *)(const void *)constraints->data;
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
    g_autofree char *line =
        g_strdup_printf("note: --limit %s is more than the %s that a GPU has, and asks what "
                        "memory<=100%% does: whatever fits, however likely to run out",
                        word, has);
    rh_terminal_hint(line);
}

/* "0 of 85 predicted up to 90 % full, 13 of 23 up to 110 %, 135 of 135 above". Caller frees. */
static char *bands_text(const RhOdds *odds)
{
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < odds->bands->len; i++) {
        const RhOddsBand *band = &g_array_index(odds->bands, RhOddsBand, i);
        g_string_append_printf(out, "%s%d of %d%s", i > 0 ? ", " : "", band->failed,
                               band->ran + band->failed, i == 0 ? " predicted" : "");
        if (isfinite(band->to_frac))
            g_string_append_printf(out, " up to %.0f %%%s", 100 * band->to_frac,
                                   i == 0 ? " full" : "");
        else
            g_string_append(out, i == 0 ? "" : " above");
    }
    return g_strdup(out->str);
}

/* What makes a --risk change nothing; NULL: it does. Caller frees. */
static char *idle_risk(double risk, const RhCase *c, const GArray *constraints)
{
    const RhConstraint *limit = limit_of(constraints);
    if (limit) {
        g_autofree char *word = rh_constraint_text(limit);
        return g_strdup_printf("changes nothing: --limit %s decides in its place", word);
    }
    RhLikeness like = rh_likeness_of(c);
    const RhOdds *odds = rh_record_odds(rh_record_shipped(), &like);
    if (!odds)
        return g_strdup("changes nothing: of runs like these it is not known how many ran out");
    double asked = rh_odds_room(odds, risk), usual = rh_odds_room(odds, RH_RISK_FRAC);
    if (risk == RH_RISK_FRAC || asked < usual || asked > usual)
        return NULL;
    g_autofree char *bands = bands_text(odds);
    return g_strdup_printf("asks what %.0f%% does, which is the default: of measured runs ran out "
                           "of memory %s",
                           100 * RH_RISK_FRAC, bands);
}

void rh_room_words_tell(const RhArguments *a, const RhCase *c, const GArray *constraints)
{
    const RhConstraint *limit = limit_of(constraints);
    if (limit)
        tell_beyond(limit, rh_train_memory_capacity(c));
    if (!rh_arguments_given(a, "--risk"))
        return;
    g_autofree char *why = idle_risk(fmax(a->risk_frac, RH_RISK_LEAST), c, constraints);
    g_autofree char *line =
        why ? g_strdup_printf("note: --risk %.4g%% %s", 100 * a->risk_frac, why) : NULL;
    if (line)
        rh_terminal_hint(line);
}
