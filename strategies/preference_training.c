#include "strategies/preference_training.h"

#include <string.h>

#include "base/error.h"

static const struct {
    const char *name, *title;
} rows[RH_PREFERENCE_LAST] = {
    [RH_PREFERENCE_NONE] = {"none", ""},
    [RH_PREFERENCE_DPO] = {"dpo", "DPO"},
    [RH_PREFERENCE_REWARD] = {"reward", "reward model"},
    [RH_PREFERENCE_FREE] = {"reference-free", "preference without a reference"},
};

bool rh_preference_by_name(const char *name, RhPreference *out)
{
    for (int i = RH_PREFERENCE_NONE + 1; i < RH_PREFERENCE_LAST; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = (RhPreference)i;
            return true;
        }
    return false;
}

const char *rh_preference_title(RhPreference preference)
{
    return rows[preference].title;
}

bool rh_preference_halve(RhDocuments *documents, int64_t sequence, GError **error)
{
    if (documents->runs_count > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "preference: a sample is a pair of sequences, and documents make it of "
                       "others\nhelp: leave documents out");
    if (sequence % 2 != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "preference: a sample of %" G_GINT64_FORMAT
                       " tokens has no two equal sequences\n"
                       "help: the sequence counts the tokens of both: an even number",
                       sequence);
    g_autofree char *half = g_strdup_printf("%" G_GINT64_FORMAT, sequence / 2);
    return rh_documents_parse(half, documents, error);
}
