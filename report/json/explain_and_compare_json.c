#include <math.h>
#include <string.h>

#include "report/json/explain_and_compare_json.h"
#include "report/json/json_common.h"

/* Writes the top terms of both, largest difference first; null when a tree is missing. */
static void put_terms(RhJsonWriter *w, const char *key, const RhCost *a, const RhCost *b,
                      const char *name_a, const char *name_b)
{
    if (!a || !b) {
        rh_json_put_null(w, key);
        return;
    }
    g_autoptr(GArray) pairs = rh_report_pairs(a, b);
    rh_json_begin_array(w, key);
    for (guint i = 0; i < pairs->len; i++) {
        const RhTermPair *p = &g_array_index(pairs, RhTermPair, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", p->name);
        rh_json_put_number(w, name_a, p->a_s);
        rh_json_put_number(w, name_b, p->b_s);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* --- explain --- */

static void put_rank(RhJsonWriter *w, int64_t rank)
{
    if (rank > 0)
        rh_json_put_int(w, "rank", rank);
    else
        rh_json_put_null(w, "rank");
}

static void put_winner(RhJsonWriter *w, const RhRehearsal *winner)
{
    if (!winner) {
        rh_json_put_null(w, "winner");
        return;
    }
    rh_json_begin_object(w, "winner");
    rh_put_layout(w, "layout", &winner->layout);
    rh_json_put_number(w, "step_time_s", winner->step_time_s);
    rh_put_known(w, "energy_j", winner->energy.total_j);
    rh_json_put_number(w, "memory_peak_bytes", winner->memory.peak_bytes);
    rh_json_end_object(w);
}

static void put_versus(RhJsonWriter *w, const RhAnswer *answer)
{
    const RhRehearsal *other = answer->other;
    if (!other && !answer->illegal) {
        rh_json_put_null(w, "versus");
        return;
    }
    rh_json_begin_object(w, "versus");
    put_rank(w, answer->versus);
    rh_json_put_string(w, "strategy", answer->strategy);
    rh_put_words(w, "changes", answer->changes);
    rh_json_put_bool(w, "legal", !answer->illegal);
    rh_json_put_string(w, "reason", answer->illegal);
    rh_json_put_string(w, "refused", answer->refused);
    if (other) {
        rh_json_put_number(w, "difference_s", other->step_time_s - answer->r->step_time_s);
        rh_put_rehearsal(w, other);
        put_terms(w, "terms", answer->r->costs, other->costs, "value_s", "versus_s");
    }
    rh_json_put_bool(w, "replanned", answer->replanned);
    put_winner(w, answer->winner);
    rh_json_end_object(w);
}

static void put_turn(RhJsonWriter *w, const char *key, bool wins, double value, int64_t rank)
{
    if (!wins) {
        rh_json_put_null(w, key);
        return;
    }
    rh_json_begin_object(w, key);
    rh_json_put_number(w, "value", value);
    rh_json_put_int(w, "rank", rank);
    rh_json_end_object(w);
}

static void put_effects(RhJsonWriter *w, const GArray *effects, RhObjective objective)
{
    if (!effects) {
        rh_json_put_null(w, "sensitivity");
        return;
    }
    rh_json_put_string(w, "sensitivity_of", rh_objective_name(objective));
    rh_json_begin_array(w, "sensitivity");
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "key", e->key);
        rh_json_put_number(w, "value", e->fact.value);
        rh_json_put_string(w, "tag", rh_tag_name(e->fact.tag));
        rh_put_known(w, "less_frac", e->less_frac);
        rh_put_known(w, "more_frac", e->more_frac);
        rh_json_put_int(w, "less_rank", e->less_rank);
        rh_json_put_int(w, "more_rank", e->more_rank);
        put_turn(w, "below", e->wins_below, e->below_value, e->below_rank);
        put_turn(w, "above", e->wins_above, e->above_value, e->above_rank);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_rivals(RhJsonWriter *w, const GArray *rivals)
{
    if (!rivals)
        return;
    rh_json_begin_array(w, "rivals");
    for (guint i = 0; i < rivals->len; i++) {
        const RhAlternative *rival = &g_array_index(rivals, RhAlternative, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_int(w, "rank", rival->rank);
        rh_put_layout(w, "layout", &rival->layout);
        rh_json_put_number(w, "step_time_s", rival->step_time_s);
        rh_put_known(w, "energy_j", rival->energy.total_j);
        rh_json_put_number(w, "memory_peak_bytes", rival->peak_bytes);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_stage_full(RhJsonWriter *w, int32_t stage, const RhStageMemoryPeak *full)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_int(w, "stage", stage);
    rh_json_put_string(w, "when", full->when);
    rh_json_put_number(w, "peak_bytes", full->peak_bytes);
    rh_json_put_number(w, "capacity_bytes", full->capacity_bytes);
    rh_put_memory(w, "memory", full->bytes);
    rh_json_end_object(w);
}

static void put_relief(RhJsonWriter *w, const RhMemorySaver *relief)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "change", relief->change);
    rh_put_layout(w, "layout", &relief->layout);
    rh_json_put_number(w, "memory_peak_bytes", relief->peak_bytes);
    rh_json_put_number(w, "bound_segment_s", relief->segment_s);
    rh_json_end_object(w);
}

static void put_memory_answer(RhJsonWriter *w, const RhMemoryAnswer *answer)
{
    if (!answer) {
        rh_json_put_null(w, "memory_term");
        return;
    }
    rh_json_begin_object(w, "memory_term");
    rh_json_begin_array(w, "stages");
    for (int32_t i = 0; i < answer->stages_count; i++)
        put_stage_full(w, i, &answer->stages[i]);
    rh_json_end_array(w);
    rh_json_begin_array(w, "changes");
    for (guint i = 0; i < answer->reliefs->len; i++)
        put_relief(w, &g_array_index(answer->reliefs, RhMemorySaver, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
}

char *rh_report_explain_json(const RhQuestion *q, const RhAnswer *answer)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.explain/1", q);
    rh_json_put_int(w, "rank", answer->rank);
    rh_json_put_number(w, "recorded_step_time_s", answer->recorded_s);
    rh_put_rehearsal(w, answer->r);
    if (answer->term)
        rh_put_cost(w, "term", answer->term);
    else
        rh_json_put_null(w, "term");
    put_memory_answer(w, answer->memory);
    put_versus(w, answer);
    put_effects(w, answer->effects, answer->objective);
    put_rivals(w, answer->rivals);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- compare --- */

static void put_named(RhJsonWriter *w, const char *key, const char *spec, const char *hash)
{
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "spec", spec);
    rh_json_put_string(w, "sha256", hash);
    rh_json_end_object(w);
}

double rh_compared_step_tokens(const RhComparedSide *side)
{
    return side->r->tokens_per_s_per_gpu * (double)side->gpus * side->r->step_time_s;
}

static double gpu_s_per_token(const RhComparedSide *side)
{
    return side->r->tokens_per_s_per_gpu > 0 ? 1 / side->r->tokens_per_s_per_gpu : 0;
}

double rh_compared_tokens_per_usd(const RhComparedSide *side)
{
    return side->r->cost_usd > 0 ? rh_compared_step_tokens(side) / side->r->cost_usd : 0;
}

double rh_compared_tokens_per_kwh(const RhComparedSide *side)
{
    double joules = side->r->energy.total_j;
    return joules > 0 ? rh_compared_step_tokens(side) / (joules / 3.6e6) : 0;
}

bool rh_compared_alike(const RhComparedSide *a, const RhComparedSide *b)
{
    double x = rh_compared_step_tokens(a), y = rh_compared_step_tokens(b);
    return a->gpus == b->gpus && fabs(x - y) <= 1e-6 * fmax(x, y);
}

#define SHARES_DIFFER_FRAC 0.0005 /* smaller differences are printed as 0.0 % */

/* Appends ", 12.0 % less money"; nothing where it is not known of both, or equal. True where it
 * differs. */
static bool add_share(GString *out, double frac, const char *less, const char *more)
{
    if (!isfinite(frac) || fabs(frac) < SHARES_DIFFER_FRAC)
        return false;
    g_string_append_printf(out, "%s%.1f %% %s", out->len ? ", " : "", 100 * fabs(frac),
                           frac < 0 ? less : more);
    return true;
}

static double beyond(double a, double b)
{
    return a > 0 && b > 0 ? a / b - 1 : (double)NAN;
}

char *rh_report_token_shares(const RhComparedSide *a, const RhComparedSide *b, const char *than)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *fewer = g_strdup_printf("fewer GPU-seconds a token%s", than);
    g_autofree char *more = g_strdup_printf("more GPU-seconds a token%s", than);
    double frac = beyond(gpu_s_per_token(a), gpu_s_per_token(b));
    bool differs = add_share(out, frac, fewer, more);
    if (!differs && isfinite(frac))
        g_string_append(out, "as many GPU-seconds a token");
    differs |= add_share(out, beyond(rh_compared_tokens_per_usd(b), rh_compared_tokens_per_usd(a)),
                         "less money", "more money");
    differs |= add_share(out, beyond(rh_compared_tokens_per_kwh(b), rh_compared_tokens_per_kwh(a)),
                         "less energy", "more energy");
    return differs ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

static void put_terms_of_token(RhJsonWriter *w, const RhComparedSide *a, const RhComparedSide *b)
{
    double tokens_a = rh_compared_step_tokens(a), tokens_b = rh_compared_step_tokens(b);
    bool known = a->r->costs && b->r->costs && tokens_a > 0 && tokens_b > 0;
    g_autoptr(RhCost) x = known ? rh_cost_scaled(a->r->costs, (double)a->gpus / tokens_a) : NULL;
    g_autoptr(RhCost) y = known ? rh_cost_scaled(b->r->costs, (double)b->gpus / tokens_b) : NULL;
    put_terms(w, "terms_of_token", x, y, "a_gpu_s", "b_gpu_s");
}

static void put_side(RhJsonWriter *w, const char *key, const RhComparedSide *side)
{
    const RhRehearsal *r = side->r;
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "result", side->spec);
    rh_json_put_int(w, "rank", side->rank);
    rh_json_begin_object(w, "inputs");
    put_named(w, "workload", side->workload, side->workload_hash);
    put_named(w, "platform", side->platform, side->platform_hash);
    rh_json_put_string(w, "stack", side->stack);
    rh_json_put_int(w, "global_batch", side->global_batch);
    rh_json_put_int(w, "sequence_tokens", side->sequence);
    rh_json_put_int(w, "gpus_count", side->gpus);
    rh_json_put_string(w, "dtype", side->dtype);
    rh_put_words(w, "sets", side->sets);
    rh_json_put_int(w, "seed", side->seed);
    rh_json_end_object(w);
    rh_put_layout(w, "layout", &r->layout);
    rh_json_put_number(w, "step_time_s", r->step_time_s);
    rh_json_put_number(w, rh_report_rate_key(r->pictures), r->tokens_per_s_per_gpu);
    rh_json_put_number(w, "gpu_s_per_token", gpu_s_per_token(side));
    rh_put_known(w, "tokens_per_usd", rh_compared_tokens_per_usd(side));
    rh_put_known(w, "tokens_per_kwh", rh_compared_tokens_per_kwh(side));
    rh_json_put_number(w, "mfu_frac", r->mfu_frac);
    rh_json_put_string(w, "mfu_peak", rh_dtype_name(r->mfu_dtype));
    rh_json_put_number(w, "memory_peak_bytes", r->memory.peak_bytes);
    rh_json_put_number(w, "memory_capacity_bytes", r->memory_capacity_bytes);
    if (r->costs)
        rh_put_cost(w, "costs", r->costs);
    else
        rh_json_put_null(w, "costs");
    rh_json_end_object(w);
}

/* Writes the names, in "inputs", of the inputs that differ. */
static void put_differences(RhJsonWriter *w, const RhComparedSide *a, const RhComparedSide *b)
{
    const struct {
        const char *name;
        bool differs;
    } rows[] = {{"workload", strcmp(a->workload, b->workload) != 0 ||
                                 strcmp(a->workload_hash, b->workload_hash) != 0},
                {"platform", strcmp(a->platform, b->platform) != 0 ||
                                 strcmp(a->platform_hash, b->platform_hash) != 0},
                {"stack", strcmp(a->stack, b->stack) != 0},
                {"global_batch", a->global_batch != b->global_batch},
                {"sequence_tokens", a->sequence != b->sequence},
                {"gpus_count", a->gpus != b->gpus},
                {"dtype", strcmp(a->dtype, b->dtype) != 0},
                {"sets", !g_strv_equal(a->sets, b->sets)},
                {"seed", a->seed != b->seed}};
    rh_json_begin_array(w, "inputs_differ");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].differs)
            rh_json_put_string(w, NULL, rows[i].name);
    rh_json_end_array(w);
}

char *rh_report_compare_json(const char *version, const char *const *argv, const RhComparedSide *a,
                             const RhComparedSide *b)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.compare/1");
    rh_json_put_string(w, "version", version);
    rh_put_words(w, "argv", argv);
    put_side(w, "a", a);
    put_side(w, "b", b);
    rh_json_put_number(w, "difference_s", b->r->step_time_s - a->r->step_time_s);
    put_differences(w, a, b);
    put_terms(w, "terms", a->r->costs, b->r->costs, "a_s", "b_s");
    put_terms_of_token(w, a, b);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
