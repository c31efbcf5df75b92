#include "accuracy/error_bar_record.h"

#include <math.h>

RhRecord *rh_record_new(void)
{
    RhRecord *record = g_new0(RhRecord, 1);
    record->made_on = g_strdup("");
    record->bars = g_array_new(FALSE, TRUE, sizeof(RhErrorBar));
    record->odds = g_ptr_array_new_with_free_func(g_free);
    record->usual = g_array_new(FALSE, TRUE, sizeof(RhTypicalMfu));
    record->serving.made_on = g_strdup("");
    record->serving.file = g_strdup("");
    record->serving.bars = g_array_new(FALSE, TRUE, sizeof(RhServedBar));
    record->serving.schedulers = g_ptr_array_new();
    return record;
}

void rh_record_free(RhRecord *record)
{
    if (!record)
        return;
    g_free(record->made_on);
    g_array_unref(record->bars);
    g_ptr_array_unref(record->odds);
    g_array_unref(record->usual);
    g_free(record->serving.made_on);
    g_free(record->serving.file);
    g_array_unref(record->serving.bars);
    g_ptr_array_unref(record->serving.schedulers);
    g_free(record);
}

/* Does a key name this value, or none? Names are interned. */
static bool agrees(const char *named, const char *is)
{
    return named == NULL || named == is;
}

bool rh_error_bar_spans(const RhErrorBar *bar, double params)
{
    return params >= bar->params_least && params <= bar->params_most;
}

static bool names(const RhErrorBar *bar, const RhEvidenceKey *like)
{
    bool sized =
        bar->gpus_most == 0 || (like->gpus >= bar->gpus_least && like->gpus <= bar->gpus_most);
    return sized && agrees(bar->stack, like->stack) && agrees(bar->generation, like->generation) &&
           agrees(bar->kind, like->kind);
}

static const RhErrorBar *widest(const RhRecord *record, const RhErrorBar *bar, const char *kind)
{
    for (guint i = 0; i < record->bars->len; i++) {
        const RhErrorBar *other = &g_array_index(record->bars, RhErrorBar, i);
        if (other->stack == NULL && other->gpus_most == 0 && agrees(other->kind, kind) &&
            other->error_frac > bar->error_frac)
            bar = other;
    }
    return bar;
}

static const RhErrorBar *bar_alike(const RhRecord *record, const RhEvidenceKey *like)
{
    const RhErrorBar *nearest = NULL;
    for (guint i = 0; i < record->bars->len; i++) {
        const RhErrorBar *bar = &g_array_index(record->bars, RhErrorBar, i);
        if (!names(bar, like))
            continue;
        if (rh_error_bar_spans(bar, like->params))
            return bar;
        nearest = nearest ? nearest : bar;
    }
    return nearest;
}

const RhErrorBar *rh_record_bar(const RhRecord *record, const RhEvidenceKey *like)
{
    const RhErrorBar *bar = like->adapters ? NULL : bar_alike(record, like);
    return bar != NULL && like->assumed ? widest(record, bar, like->kind) : bar;
}

double rh_record_widest_frac(const RhRecord *record, const char *kind)
{
    static const RhErrorBar none = {0};
    return widest(record, &none, kind)->error_frac;
}

const RhOdds *rh_record_odds(const RhRecord *record, const RhEvidenceKey *like)
{
    for (guint i = 0; i < record->odds->len; i++) {
        const RhOdds *odds = g_ptr_array_index(record->odds, i);
        if (agrees(odds->stack, rh_evidence_key_holder(like)) &&
            agrees(odds->kernels, like->kernels))
            return odds;
    }
    return NULL;
}

const RhTypicalMfu *rh_record_usual(const RhRecord *record, const RhEvidenceKey *like)
{
    for (guint i = 0; i < record->usual->len; i++) {
        const RhTypicalMfu *usual = &g_array_index(record->usual, RhTypicalMfu, i);
        if (usual->device == like->device && usual->kind == like->kind &&
            usual->dtype == like->dtype && like->params >= usual->params_least &&
            like->params <= usual->params_most)
            return usual;
    }
    return NULL;
}
