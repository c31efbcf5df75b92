#include "validate/cases/cases_translate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/units.h"
#include "calibrate/stacks/steps_linear_fit.h"
#include "strategies/train/memory/stream_memory_pools.h"
#include "validate/cases/case_model.h"
#include "validate/cases/case_platform.h"

struct RhTranslator {
    RhCaseFacts *facts;
    GHashTable *models;    /* text -> RhModel*, both owned */
    GHashTable *platforms; /* text -> RhPlatform* (a stack's view), both owned */
    GHashTable *stacks;    /* text -> RhStack* with other constants, both owned */
    GStringChunk *keys;
    RhStepConstants constants;
};

/* State of translating a row. */
typedef struct {
    RhTranslator *t;
    RhCaseTranslation way;
    RhTranslated *out;
    char *model_key;
} Way;

RhTranslator *rh_translator_new(GError **error)
{
    RhCaseFacts *facts = rh_case_facts_load(false, error);
    if (!facts)
        return NULL;
    RhTranslator *t = g_new0(RhTranslator, 1);
    t->facts = facts;
    t->keys = g_string_chunk_new(4096);
    t->models =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)rh_model_free);
    t->platforms =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)rh_platform_free);
    t->stacks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    t->constants.name = "";
    return t;
}

void rh_translator_free(RhTranslator *t)
{
    if (!t)
        return;
    rh_case_facts_free(t->facts);
    g_string_chunk_free(t->keys);
    g_hash_table_destroy(t->models);
    g_hash_table_destroy(t->platforms);
    g_hash_table_destroy(t->stacks);
    g_free(t);
}

RhCaseFacts *rh_translator_facts(RhTranslator *t)
{
    return t->facts;
}

void rh_translator_use(RhTranslator *t, const RhStepModel *constants, const char *name)
{
    t->constants = (RhStepConstants){constants, constants ? name : ""};
}

/* Returns a stack with the constants that it has of the fitted one. */
static const RhStack *lay_constants(const RhTranslator *t, const RhStack *stack)
{
    if (!t->constants.fitted)
        return stack;
    g_autofree char *key = g_strdup_printf("%s %s", stack->name, t->constants.name);
    RhStack *copy = g_hash_table_lookup(t->stacks, key);
    if (copy)
        return copy;
    copy = g_memdup2(stack, sizeof *stack);
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++) {
        const RhFact *fitted =
            (const RhFact *)(const void *)((const char *)&t->constants.fitted->stack + s->offset);
        RhFact *own = (RhFact *)(void *)((char *)copy + s->offset);
        if (own->source == fitted->source)
            own->value = fitted->value;
    }
    g_hash_table_insert(t->stacks, g_steal_pointer(&key), copy);
    return copy;
}

static bool say_model(Way *w)
{
    w->out->c.model = rh_case_model(&w->way, w->t->models, &w->model_key);
    return w->out->c.model != NULL;
}

static bool say_platform(Way *w)
{
    w->out->c.platform =
        rh_case_platform(&w->way, w->out->c.stack, &w->t->constants, w->t->platforms);
    return w->out->c.platform != NULL;
}

static bool say_stack(Way *w)
{
    const char *name = rh_case_says(&w->way, RH_CASE_SAYS_STACK);
    GError *why = NULL;
    w->out->c.stack = name ? rh_stack_by_name(name, &why) : NULL;
    if (why)
        return rh_case_give_up_with(&w->way, "", why);
    if (!name)
        return rh_case_give_up(&w->way, "no stack is known for it");
    w->out->c.stack = lay_constants(w->t, w->out->c.stack);
    return true;
}

/* --- job and layout --- */

/* Sets the rounds of rows with a time; for runs out of memory they are unknown. */
static bool say_rounds(Way *w)
{
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_ROUNDS);
    RhJob *job = &w->out->c.job;
    int64_t rounds = 1;
    if (said && w->way.row->step_s > 0 && !rh_integer_parse(said, 1, 1 << 20, &rounds, NULL))
        return rh_case_give_up(&w->way, "rounds %s: not a number of them", said);
    if (job->global_batch % rounds != 0)
        return rh_case_give_up(&w->way, "rounds %s: no divisor of the batch", said);
    w->out->rounds = (int32_t)rounds;
    job->global_batch /= w->out->rounds;
    job->accumulates = rounds > 1;
    return true;
}

static bool say_job(Way *w)
{
    static const RhCaseColumn needed[] = {RH_CASE_GPUS, RH_CASE_SEQ, RH_CASE_GLOBAL_BATCH};
    const char *recipe = rh_case_says(&w->way, RH_CASE_SAYS_RECIPE);
    RhJob *job = &w->out->c.job;
    for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
        if (w->way.row->whole[needed[i]] == 0)
            return rh_case_give_up(&w->way, "%s is not given", rh_case_column_name(needed[i]));
    job->gpus = (int32_t)w->way.row->whole[RH_CASE_GPUS];
    job->sequence = w->way.row->whole[RH_CASE_SEQ];
    job->global_batch = w->way.row->whole[RH_CASE_GLOBAL_BATCH];
    if (!say_rounds(w))
        return false;
    job->recipe = rh_recipe_by_name(recipe ? recipe : rh_case_cell(&w->way, RH_CASE_PRECISION));
    const char *lora = rh_case_says(&w->way, RH_CASE_SAYS_LORA);
    const char *gradients = rh_case_says(&w->way, RH_CASE_SAYS_GRADIENTS);
    job->gradient_bytes = g_strcmp0(gradients, "bf16") == 0   ? 2
                          : g_strcmp0(gradients, "fp32") == 0 ? 4
                                                              : 0;
    if (gradients && job->gradient_bytes == 0)
        return rh_case_give_up(&w->way, "gradients %s: neither bf16 nor fp32", gradients);
    const char *weights = rh_case_says(&w->way, RH_CASE_SAYS_WEIGHTS);
    job->narrow_weights = g_strcmp0(weights, "narrow") == 0;
    job->narrow_attention = g_strcmp0(rh_case_says(&w->way, RH_CASE_SAYS_ATTENTION), "fp8") == 0;
    const char *moments = rh_case_says(&w->way, RH_CASE_SAYS_MOMENTS);
    job->moments = moments ? rh_adam_moments_by_name(moments) : NULL;
    if (moments && !job->moments)
        return rh_case_give_up(&w->way, "moments %s: none of %s", moments, RH_ADAM_MOMENTS_CHOICES);
    g_autoptr(GError) error = NULL;
    if (lora && !rh_lora_parse(lora, &job->lora, &error))
        return rh_case_give_up(&w->way, "%s", error->message);
    return job->recipe || rh_case_give_up(&w->way, "precision %s: no recipe is known for it",
                                          *rh_case_cell(&w->way, RH_CASE_PRECISION)
                                              ? rh_case_cell(&w->way, RH_CASE_PRECISION)
                                              : "is not given");
}

/* Is the published count one of stages? DualPipe places two on a rank, so there are twice as many
 * (arXiv 2412.19437, section 3.2.1); layouts count the pairs (docs/theory/strategies.md). */
static bool counts_stages(const Way *w)
{
    return strcmp(rh_case_cell(&w->way, RH_CASE_VPP), "dualpipe") == 0 &&
           w->way.row->whole[RH_CASE_PP] % 2 == 0;
}

static void append_degree(const Way *w, GString *text, RhCaseColumn column)
{
    int64_t degree = w->way.row->whole[column];
    if (counts_stages(w))
        degree = column == RH_CASE_PP ? degree / 2 : column == RH_CASE_DP ? 2 * degree : degree;
    if (degree > 0)
        g_string_append_printf(text, ",%s%" G_GINT64_FORMAT, rh_case_column_name(column), degree);
}

/* Appends the schedule: a number means chunks; other words name a schedule. */
static void append_schedule(const Way *w, GString *text)
{
    const char *vpp = rh_case_cell(&w->way, RH_CASE_VPP);
    guint64 chunks = 0;
    if (!*vpp)
        return;
    if (!g_ascii_string_to_unsigned(vpp, 10, 1, 1 << 16, &chunks, NULL))
        g_string_append_printf(text, ",schedule=%s", vpp);
    else if (chunks > 1 && w->way.row->whole[RH_CASE_PP] > 1)
        g_string_append_printf(text, ",vpp%d", (int)chunks);
}

static char *layout_text(const Way *w)
{
    static const RhCaseColumn degrees[] = {RH_CASE_TP, RH_CASE_PP, RH_CASE_DP, RH_CASE_CP,
                                           RH_CASE_EP};
    const char *microbatch = rh_case_says(&w->way, RH_CASE_SAYS_MICROBATCH);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "zero=%s,recompute=%s,sp=%s",
                           rh_case_says(&w->way, RH_CASE_SAYS_ZERO),
                           rh_case_says(&w->way, RH_CASE_SAYS_RECOMPUTE),
                           strcmp(rh_case_cell(&w->way, RH_CASE_SEQPAR), "1") == 0 ? "on" : "off");
    for (size_t i = 0; i < G_N_ELEMENTS(degrees); i++)
        append_degree(w, text, degrees[i]);
    append_schedule(w, text);
    if (w->way.row->whole[RH_CASE_MICROBATCH] > 0)
        g_string_append_printf(text, ",mb%" G_GINT64_FORMAT, w->way.row->whole[RH_CASE_MICROBATCH]);
    else if (microbatch && strcmp(microbatch, "quickest") != 0)
        g_string_append_printf(text, ",mb%s", microbatch);
    if (rh_case_says(&w->way, RH_CASE_SAYS_OVERLAP) && w->way.row->whole[RH_CASE_TP] > 1 &&
        strcmp(rh_case_cell(&w->way, RH_CASE_SEQPAR), "1") == 0)
        g_string_append_printf(text, ",tpoverlap=%s", rh_case_says(&w->way, RH_CASE_SAYS_OVERLAP));
    if (rh_case_says(&w->way, RH_CASE_SAYS_LAYOUT))
        g_string_append_printf(text, ",%s", rh_case_says(&w->way, RH_CASE_SAYS_LAYOUT));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Completes the layout with this micro-batch, in canonical form; false where it is not legal. */
static bool complete_layout(Way *w, const RhLayout *asked, int32_t microbatch)
{
    GError *local = NULL;
    RhLayout layout = *asked;
    layout.microbatch = microbatch;
    layout = rh_train_canonical(&w->out->c, &layout);
    if (!rh_train_legal(&w->out->c, &layout, &local))
        return rh_case_give_up_with(&w->way, "", local);
    w->out->layout = layout;
    return true;
}

static bool say_layout(Way *w)
{
    GError *local = NULL;
    RhLayout layout = rh_layout_default();
    static const RhCaseAspect needed[] = {RH_CASE_SAYS_ZERO, RH_CASE_SAYS_RECOMPUTE};
    static const RhCaseColumn columns[] = {RH_CASE_ZERO, RH_CASE_RECOMPUTE};
    for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
        if (!rh_case_says(&w->way, needed[i]))
            return rh_case_give_up(&w->way, "%s \"%s\": not supported",
                                   rh_case_column_name(columns[i]),
                                   rh_case_cell(&w->way, columns[i]));
    g_autofree char *text = layout_text(w);
    if (!rh_layout_parse(text, &layout, &local))
        return rh_case_give_up_with(&w->way, "", local);
    bool open = w->way.row->whole[RH_CASE_MICROBATCH] == 0 &&
                rh_case_says(&w->way, RH_CASE_SAYS_MICROBATCH) &&
                strcmp(rh_case_says(&w->way, RH_CASE_SAYS_MICROBATCH), "quickest") == 0;
    if (w->way.row->whole[RH_CASE_MICROBATCH] == 0 &&
        !rh_case_says(&w->way, RH_CASE_SAYS_MICROBATCH))
        return rh_case_give_up(&w->way, "microbatch is not given");
    if (!complete_layout(w, &layout, open ? 1 : layout.microbatch))
        return false;
    w->out->layout.microbatch = open ? 0 : layout.microbatch;
    return true;
}

/* --- measured values --- */

/* Rate in a note, "tokens/s=515636" or "tokens/s/GPU=6288", as tokens of the job per second; 0:
 * none. */
static double noted_tokens_per_s(const Way *w)
{
    static const char whole[] = "tokens/s=", each[] = "tokens/s/GPU=";
    const char *at = strstr(rh_case_cell(&w->way, RH_CASE_NOTE), whole);
    if (at)
        return g_ascii_strtod(at + strlen(whole), NULL);
    at = strstr(rh_case_cell(&w->way, RH_CASE_NOTE), each);
    return at ? g_ascii_strtod(at + strlen(each), NULL) * w->out->c.job.gpus : 0;
}

/* Peak in a note: "peak_mem_gib=66.55"; 0: none. */
static double noted_peak_bytes(const Way *w)
{
    static const char word[] = "peak_mem_gib=";
    const char *at = strstr(rh_case_cell(&w->way, RH_CASE_NOTE), word);
    double gib = at ? g_ascii_strtod(at + strlen(word), NULL) : 0;
    return gib > 0 && isfinite(gib) ? gib * RH_GIB_BYTES : 0;
}

/* Factor of a peak over the tensors: "allocated", "reserved". */
static double peak_over_tensors(const char *peak)
{
    if (!peak)
        return 0;
    return strcmp(peak, "reserved") == 0 ? RH_RESERVED_OVER : 1;
}

static bool say_measured(Way *w)
{
    const RhJob *job = &w->out->c.job;
    double tokens = (double)job->global_batch * (double)job->sequence,
           tokens_per_s = noted_tokens_per_s(w);
    const char *flops = rh_case_says(&w->way, RH_CASE_SAYS_FLOPS);
    w->out->measured_s = w->way.row->step_s;
    w->out->peak_bytes = noted_peak_bytes(w);
    w->out->peak_over_tensors = peak_over_tensors(rh_case_says(&w->way, RH_CASE_SAYS_PEAK));
    if (w->way.row->step_s > 0)
        return true;
    if (tokens_per_s > 0) {
        w->out->measured_s = tokens / tokens_per_s;
    } else if (w->way.row->tflops > 0) {
        if (!flops)
            return rh_case_give_up(&w->way,
                                   "a figure of TFLOP/s alone, and what it counts is unknown");
        w->out->measured_s =
            rh_model_tuned_flops_per_token(w->out->c.model, job->sequence, &job->lora) * tokens /
            (w->way.row->tflops * 1e12 * job->gpus);
    } else if (*rh_case_cell(&w->way, RH_CASE_MFU)) {
        return rh_case_give_up(&w->way, "a share of peak FLOP/s alone: what it counts is unknown");
    }
    return true;
}

static void say_where(Way *w)
{
    const char *table = rh_case_says(&w->way, RH_CASE_SAYS_TABLE);
    w->out->table = rh_intern(table ? table : rh_case_cell(&w->way, RH_CASE_SOURCE));
    w->out->steps = rh_case_says(&w->way, RH_CASE_SAYS_STEPS);
    w->out->fitted = rh_case_says(&w->way, RH_CASE_SAYS_FITTED);
    w->out->standing = rh_case_standing(&w->way);
}

static void say_key(Way *w)
{
    RhTranslated *o = w->out;
    g_autofree char *layout = rh_layout_format(&o->layout);
    g_autofree char *key = g_strdup_printf(
        "%s|%s|%s|%s|%d|%" G_GINT64_FORMAT "|%" G_GINT64_FORMAT "|%s%s|%d:%u|%d|%d|%s%s",
        w->t->constants.name, w->model_key, o->c.platform->name, o->c.stack->name, o->c.job.gpus,
        o->c.job.global_batch, o->c.job.sequence, o->c.job.recipe->name,
        o->c.job.narrow_weights     ? o->c.job.narrow_attention ? "!8" : "!"
        : o->c.job.narrow_attention ? "8"
                                    : "",
        o->c.job.lora.rank, o->c.job.lora.modules, o->c.job.gradient_bytes, o->rounds, layout,
        o->measured_s > 0 ? "" : "|oom");
    o->key = g_string_chunk_insert_const(w->t->keys, key);
    o->strategy = rh_intern(layout);
    o->tasks =
        o->measured_s > 0 && o->layout.microbatch > 0 ? rh_train_tasks(&o->c, &o->layout) : 0;
}

char *rh_translate(RhTranslator *t, const RhCaseRow *row, RhTranslated *out)
{
    RhCaseValues said = rh_case_facts_say(t->facts, row);
    Way w = {.t = t, .way = {row, &said, NULL}, .out = out};
    *out = (RhTranslated){0};
    say_where(&w);
    bool fine = !said.says[RH_CASE_SAYS_SKIP] ||
                rh_case_give_up(&w.way, "%s", said.says[RH_CASE_SAYS_SKIP]);
    fine = fine && say_job(&w) && say_model(&w) && say_stack(&w) && say_platform(&w) &&
           say_layout(&w) && say_measured(&w);
    if (fine) {
        say_key(&w);
        out->stands_in = rh_case_stands_in(&w.way);
    }
    g_free(w.model_key);
    rh_case_said_clear(&said);
    return w.way.why;
}

void rh_translated_clear(RhTranslated *translated)
{
    g_clear_pointer(&translated->stands_in, g_free);
}
