#include "validate/cases/case_predictions.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "accuracy/error_bar_record.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "sim/engine/workers/process_pool.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/train/memory/stream_memory_pools.h"
#include "validate/cases/cases_cross_validation.h"
#include "validate/cases/cases_translate.h"
#include "validate/cases/fitted_steps.h"

/* A prediction, as a child process sends it. */
typedef struct {
    double step_s, peak_bytes, streams_bytes, capacity_bytes, took_s;
    int32_t microbatch;
} Answer;

typedef struct {
    const RhCasesOptions *options;
    GArray *translated;  /* RhTranslated, of each row; without a key where it cannot be expressed */
    GArray *items;       /* guint: the first row of each key */
    GArray *answers;     /* Answer, of each item */
    GPtrArray *whys;     /* char* or NULL, of each item: why it could not be predicted */
    GHashTable *item_of; /* key -> index in items, from 1 */
    RhDeadline deadline;
    int32_t done;
} Batch;

static const RhTranslated *translated_at(const Batch *b, guint i)
{
    return &g_array_index(b->translated, RhTranslated, i);
}

/* --- in a child process --- */

/* Returns the layout with the fastest fitting micro-batch where the source gives none, else the
 * smallest. */
static RhLayout choose_microbatch(const RhTranslated *t)
{
    RhLayout best = t->layout;
    double least_s = (double)INFINITY;
    best.microbatch = 1;
    best = rh_train_canonical(&t->c, &best);
    for (int32_t mb = 1; mb <= 8; mb *= 2) {
        RhLayout l = t->layout;
        l.microbatch = mb;
        l = rh_train_canonical(&t->c, &l);
        if (!rh_train_legal(&t->c, &l, NULL))
            continue;
        g_autoptr(RhRehearsal) quick = rh_rehearse_quick(&t->c, &l);
        if (quick->fits && quick->step_time_s < least_s) {
            least_s = quick->step_time_s;
            best = l;
        }
    }
    return best;
}

static GByteArray *predict_item(int32_t item, void *user, GError **error)
{
    const Batch *b = user;
    const RhTranslated *t = translated_at(b, g_array_index(b->items, guint, item));
    RhEngineOptions options = {0};
    RhLayout layout = t->layout.microbatch > 0 ? t->layout : choose_microbatch(t);
    RhTrainMemory memory = rh_train_memory(&t->c, &layout);
    Answer a = {.peak_bytes = memory.peak_bytes,
                .streams_bytes = rh_train_streams_bytes(&t->c, &layout, &memory),
                .capacity_bytes = rh_train_memory_capacity(&t->c),
                .microbatch = layout.microbatch};
    if (t->measured_s > 0 && !rh_rehearse_here(&t->c, &layout, &options, &a.step_s, error))
        return NULL;
    a.took_s = (double)clock() / CLOCKS_PER_SEC; /* of this process */
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)&a, sizeof a);
}

/* --- in the calling process --- */

static void report_progress(void *user)
{
    const Batch *b = user;
    if (b->options->progress)
        b->options->progress("simulating published runs", b->done, (int32_t)b->items->len,
                             b->options->user);
}

static bool is_late(const Batch *b, const GError *error)
{
    return g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER) && rh_deadline_passed(b->deadline);
}

static void take_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Batch *b = user;
    if (bytes && bytes->len == sizeof(Answer))
        memcpy(&g_array_index(b->answers, Answer, item), bytes->data, sizeof(Answer));
    else
        b->whys->pdata[item] = g_strdup(is_late(b, error) ? RH_EVALUATION_LATE
                                        : error           ? error->message
                                                          : "its answer broke off");
    b->done++;
    report_progress(b);
}

/* Orders items: most tasks first, so that no long one is alone at the end; with a deadline the
 * fewest first, so that as many as possible are done by then. */
static gint sooner(gconstpointer a, gconstpointer b, gpointer user)
{
    const Batch *batch = user;
    const guint *x = a, *y = b;
    double p = translated_at(batch, *x)->tasks, q = translated_at(batch, *y)->tasks;
    int order = batch->options->timeout_s > 0 ? -1 : 1;
    return p < q ? order : p > q ? -order : *x < *y ? -1 : *x > *y;
}

/* Returns the remaining time in the convention of workers, where 0 is no limit. */
static double left_s(const Batch *b)
{
    return b->options->timeout_s > 0 ? fmax(rh_deadline_left_s(b->deadline), 1e-3) : 0;
}

static void rehearse_all(Batch *b)
{
    RhProcessPool workers = {.count = (int32_t)b->items->len,
                             .jobs = MAX(b->options->jobs, 1),
                             .timeout_s = left_s(b),
                             .perform = predict_item,
                             .answer = take_answer,
                             .waiting = report_progress,
                             .user = b};
    g_array_sort_with_data(b->items, sooner, b);
    for (guint i = 0; i < b->items->len; i++)
        g_hash_table_insert(b->item_of,
                            (void *)translated_at(b, g_array_index(b->items, guint, i))->key,
                            GUINT_TO_POINTER(i + 1));
    g_array_set_size(b->answers, b->items->len);
    g_ptr_array_set_size(b->whys, (gint)b->items->len);
    rh_process_pool_run(&workers);
}

/* --- results --- */

/* Group of rows that ran one job in several layouts, among which CLI.md compares ranks. */
static const char *rivals_of(const RhCaseRow *row)
{
    static const RhCaseColumn alike[] = {RH_CASE_SOURCE,   RH_CASE_MODEL, RH_CASE_GPU,
                                         RH_CASE_GPUS,     RH_CASE_SEQ,   RH_CASE_GLOBAL_BATCH,
                                         RH_CASE_PRECISION};
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(alike); i++)
        g_string_append_printf(text, "%s|", row->text[alike[i]]);
    return rh_intern(text->str);
}

static RhEvaluatedRun judged_row(const RhCaseRow *row, const RhTranslated *t, char *why)
{
    RhEvaluatedRun r = {.id = g_strdup_printf("%s:%d", row->file, row->line),
                        .line = row->line,
                        .source = rh_intern(row->text[RH_CASE_SOURCE]),
                        .table = t->table,
                        .model = rh_intern(row->text[RH_CASE_MODEL]),
                        .device = rh_intern(row->text[RH_CASE_GPU]),
                        .rivals = rivals_of(row),
                        .standing = t->standing,
                        .skipped = why};
    if (why)
        return r;
    r.family = t->c.model->family;
    r.strategy = t->strategy;
    r.stack = t->c.stack->name;
    r.platform = t->c.platform->name;
    r.like = rh_evidence_key_of(&t->c);
    r.measured_s = t->measured_s;
    r.failed = t->measured_s <= 0;
    r.measured_mfu_frac = r.failed ? 0 : rh_mfu_frac(&t->c, t->measured_s / t->rounds);
    r.measured_peak_bytes = t->peak_bytes;
    r.stands_in = g_strdup(t->stands_in);
    return r;
}

/* Text of the layout with the chosen micro-batch. */
static const char *strategy_of(const RhTranslated *t, int32_t microbatch)
{
    RhLayout layout = t->layout;
    layout.microbatch = microbatch;
    g_autofree char *text = rh_layout_format(&layout);
    return rh_intern(text);
}

static void fill(const Batch *b, RhEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++) {
        RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        const RhTranslated *t = translated_at(b, i);
        if (row->skipped)
            continue;
        guint item = GPOINTER_TO_UINT(g_hash_table_lookup(b->item_of, t->key)) - 1;
        const Answer *a = &g_array_index(b->answers, Answer, item);
        row->skipped = g_strdup(b->whys->pdata[item]);
        row->predicted_s = t->rounds * a->step_s;
        row->peak_bytes = a->peak_bytes;
        row->counted_peak_bytes =
            t->peak_over_tensors * (a->peak_bytes - t->c.stack->reserve_bytes.value) +
            (t->peak_over_tensors > 1 ? a->streams_bytes : 0);
        row->capacity_bytes = a->capacity_bytes;
        row->took_s = a->took_s;
        if (!row->skipped)
            row->strategy = strategy_of(t, a->microbatch);
    }
}

/* Translates a row: by all that is known, or as its group allows. */
static char *translate_row(RhTranslator *translator, RhCasesCross *cross, const RhCaseRow *row,
                           RhTranslated *t)
{
    return cross ? rh_cases_cross_translate(cross, row, t) : rh_translate(translator, row, t);
}

static void translate_all(const RhCaseTable *table, RhTranslator *translator, Batch *b,
                          RhEvaluation *evaluation, const RhFittedSteps *fitted,
                          RhCasesCross *cross)
{
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        RhTranslated t;
        if (!rh_case_wanted(row, b->options->only))
            continue;
        char *why = translate_row(translator, cross, row, &t);
        g_array_append_val(b->translated, t);
        RhEvaluatedRun r = judged_row(row, &t, why);
        r.cross_group = cross ? rh_cases_cross_group(cross, row) : NULL;
        r.fitted = !why && !r.cross_group && (t.fitted || rh_fitted_step(fitted, &t));
        g_array_append_val(evaluation->rows, r);
        if (why || g_hash_table_contains(b->item_of, t.key))
            continue;
        guint at = b->translated->len - 1;
        g_array_append_val(b->items, at);
        g_hash_table_add(b->item_of, (void *)t.key);
    }
    if (!fitted->steps)
        g_ptr_array_add(evaluation->notes,
                        g_strdup("calibrate/data/published-steps.csv is not there: rows that "
                                 "constants were fitted to are not told apart"));
}

static void translated_clear(void *data)
{
    rh_translated_clear(data);
}

RhEvaluation *rh_cases_judge(const RhCaseTable *table, const RhCasesOptions *options,
                             GError **error)
{
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    g_autoptr(RhTranslator) translator = rh_translator_new(error);
    if (!translator)
        return NULL;
    RhEvaluation *evaluation = rh_evaluation_new(table->name);
    evaluation->shipped = table->steps != NULL;
    evaluation->crossed = options->cross != RH_CROSS_NONE;
    Batch b = {.options = options,
               .deadline = deadline,
               .translated = g_array_new(FALSE, TRUE, sizeof(RhTranslated)),
               .items = g_array_new(FALSE, FALSE, sizeof(guint)),
               .answers = g_array_new(FALSE, TRUE, sizeof(Answer)),
               .whys = g_ptr_array_new_with_free_func(g_free),
               .item_of = g_hash_table_new(g_direct_hash, g_direct_equal)};
    g_array_set_clear_func(b.translated, translated_clear);
    RhFittedSteps fitted = rh_fitted_steps_load();
    g_autoptr(RhCasesCross) cross =
        options->cross ? rh_cases_cross_new(table, translator, &fitted, options, deadline) : NULL;
    translate_all(table, translator, &b, evaluation, &fitted, cross);
    rehearse_all(&b);
    fill(&b, evaluation);
    rh_record_hold_out(evaluation);
    if (cross)
        rh_cases_cross_note(cross, evaluation);
    rh_fitted_steps_clear(&fitted);
    g_array_unref(b.translated);
    g_array_unref(b.items);
    g_array_unref(b.answers);
    g_ptr_array_unref(b.whys);
    g_hash_table_destroy(b.item_of);
    return evaluation;
}
