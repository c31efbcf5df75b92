#include "report/memory_answer.h"

#include <math.h>
#include <string.h>

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/json/json_common.h"
#include "report/next_command.h"
#include "strategies/knobs.h"

#define SHOWN_MOST 6 /* changes in a text */

bool rh_memory_fit_holds(const RhMemoryFit *fit)
{
    return fit->r && fit->r->fits && fit->r->memory.peak_bytes <= fit->q->safe_bytes;
}

/* --- training, as text --- */

static void append_reach(GString *out, const RhMemoryFit *f)
{
    if (f->reach.microbatch > 0)
        g_string_append_printf(out, "; largest micro-batch %" G_GINT64_FORMAT, f->reach.microbatch);
    if (f->reach.microbatch > 0 && !rh_model_sees_pictures(f->q->c->model)) {
        g_autofree char *tokens = rh_text_count(f->q->c->job.sequence);
        g_string_append_printf(out, " at %s tokens", tokens);
    }
    if (f->reach.sequence > 0) {
        g_autofree char *tokens = rh_text_count(f->reach.sequence);
        g_string_append_printf(out, ", longest sequence %s at micro-batch 1%s", tokens,
                               f->reach.sequence_is_most ? " (the model's most)" : "");
    }
    if (f->reach.lora_rank > 0)
        g_string_append_printf(out, ", largest LoRA rank %s%" G_GINT64_FORMAT,
                               f->reach.lora_rank == RH_MEMORY_RANK_MOST ? "at least " : "",
                               f->reach.lora_rank);
}

/* "63.6 of 79.1 GiB per GPU, over 99 % likely" */
static void append_use(GString *out, const RhMemoryFit *f)
{
    const RhRehearsal *r = f->r;
    bool shared = rh_clients_share(&f->q->c->job.clients);
    g_autofree char *peak = rh_text_number(rh_text_gib(r->memory.peak_bytes), 3);
    g_autofree char *all = rh_text_number(rh_text_gib(r->memory_capacity_bytes), 3);
    g_autofree char *odds = rh_report_odds_brief(r);
    g_string_append_printf(out, "%s of %s GiB per %s", peak, all, shared ? "process" : "GPU");
    if (odds && r->fits)
        g_string_append_printf(
            out, ", %.*s", (int)(strlen(odds) - (g_str_has_suffix(odds, " to fit") ? 7 : 0)), odds);
}

static void append_first(GString *out, const RhMemoryFit *f)
{
    g_autoptr(GString) line = g_string_new(NULL);
    if (!f->r) {
        g_string_printf(line, "does not fit: no layout of %s does on %d GPU%s",
                        f->q->c->model->name, f->q->c->job.gpus, f->q->c->job.gpus == 1 ? "" : "s");
    } else {
        bool fits = rh_memory_fit_holds(f);
        g_string_append(line, fits         ? "fits: "
                              : f->r->fits ? "may not fit: needs "
                                           : "does not fit: needs ");
        append_use(line, f);
        if (fits)
            append_reach(line, f);
    }
    rh_text_wrap(out, line->str, 0, 79);
}

static void append_layout(GString *out, const RhMemoryFit *f)
{
    g_autofree char *title = rh_layout_title(&f->r->layout);
    g_autofree char *line = g_strdup_printf(
        "layout: %s%s", title,
        !f->strategy ? " (of the usual ones that fit, the fastest, estimated)" : "");
    rh_text_wrap(out, line, 2, 79);
}

static void append_largest(GString *out, const char *what, int64_t size, const RhLayout *at)
{
    g_autofree char *number = rh_text_count(size), *title = rh_layout_title(at);
    g_autofree char *line = g_strdup_printf("  %s %s: %s", what, number, title);
    rh_text_wrap(out, line, 4, 79);
}

/* Appends with which layouts the largest sizes are reached, where not with the one shown. */
static void append_anywhere(GString *out, const RhMemoryFit *f)
{
    const RhLargestAnywhere *all = f->anywhere;
    if (!all || !rh_memory_fit_holds(f))
        return;
    g_string_append_printf(out, "\nlayouts of the largest sizes%s\n",
                           all->cut_short ? " (found in time; larger ones may fit)" : "");
    append_largest(out, "micro-batch", all->sizes.microbatch, &all->at_microbatch);
    if (all->sizes.sequence > 0)
        append_largest(out, "sequence", all->sizes.sequence, &all->at_sequence);
    if (all->sizes.lora_rank > 0)
        append_largest(out, "LoRA rank", all->sizes.lora_rank, &all->at_rank);
}

/* Appends what was not asked for, as options. */
static void append_assumed(GString *out, const RhMemoryFit *f)
{
    const RhJob *job = &f->q->c->job;
    g_autofree char *seq = f->sequence_assumed
                               ? g_strdup_printf(" --seq %" G_GINT64_FORMAT, job->sequence)
                               : g_strdup(""),
                    *batch = f->batch_assumed ? g_strdup_printf(" --global-batch %" G_GINT64_FORMAT,
                                                                job->global_batch)
                                              : g_strdup("");
    if (f->sequence_assumed || f->batch_assumed)
        g_string_append_printf(out, "assumed, as not given:%s%s\n", seq, batch);
}

static void append_job(GString *out, const RhMemoryFit *f)
{
    const RhJob *job = &f->q->c->job;
    g_autofree char *tokens = rh_text_count(job->sequence);
    g_autofree char *batch = rh_text_count(job->global_batch);
    g_autofree char *samples =
        rh_model_sees_pictures(f->q->c->model)
            ? g_strdup_printf("%s pictures a step", batch)
            : g_strdup_printf("%s samples of %s tokens a step", batch, tokens);
    g_autofree char *shared = rh_report_sharing(job), *pairs = rh_report_preference(job);
    int32_t gpus = rh_job_gpus(job);
    g_autofree char *line = g_strdup_printf(
        "job: %s on %d GPU%s of %s%s, %s, %s, framework %s%s%s", f->q->c->model->name, gpus,
        gpus == 1 ? "" : "s", f->q->platform_spec, shared, samples, job->recipe->name,
        f->q->c->stack->name, job->lora.rank > 0 ? ", LoRA" : "", pairs);
    rh_text_wrap(out, line, 2, 79);
    append_assumed(out, f);
    if (f->q->hardware->profile) {
        g_autofree char *profile = g_strconcat("profile: ", f->q->hardware->profile, NULL);
        rh_text_wrap(out, profile, 2, 79);
    }
}

static void add_states(RhTable *table, const char *name, double bytes, int32_t gpus)
{
    double gib = rh_text_gib(bytes);
    g_autofree char *all = gib < 1000 ? rh_text_number(gib, 3) : rh_text_count(llround(gib)),
                    *each = rh_text_number(gib / gpus, 3);
    rh_table_rowf(table, "  %s|%s GiB|%s GiB", name, all, each);
}

/* Appends why nothing fits: the training states beside what a GPU has. */
static void append_states(GString *out, const RhMemoryFit *f)
{
    const RhProblem *c = f->q->c;
    const RhTrainingStates *s = &f->plan->states;
    double bytes = rh_training_states_bytes(s), has = rh_train_memory_capacity(c);
    if (bytes <= 0)
        return;
    g_autoptr(RhTable) table = rh_table_new("<>>");
    g_autofree char *divided = g_strdup_printf("divided by %d GPUs", c->job.gpus);
    rh_table_rowf(table, "training states|whole model|%s", c->job.gpus > 1 ? divided : "a GPU");
    add_states(table, "weights", s->weights, c->job.gpus);
    add_states(table, "gradients", s->gradients, c->job.gpus);
    add_states(table, "optimizer", s->optimizer, c->job.gpus);
    add_states(table, "total of the states", bytes, c->job.gpus);
    add_states(table, "GPU memory, to compare", has * c->job.gpus, c->job.gpus);
    g_string_append_c(out, '\n');
    rh_table_append(table, out, "");
}

static void append_parts(GString *out, const RhTrainMemory *m, int32_t stages)
{
    g_autofree char *head = stages > 1
                                ? g_strdup_printf("peak memory of a GPU of stage %d", m->stage)
                                : g_strdup("peak memory of a GPU");
    g_string_append_printf(out, "\n%-42s %8s  share\n", head, "GiB");
    for (int use = 1; use < RH_MEMORY_LAST; use++)
        if (m->at_peak_bytes[use] > 0)
            g_string_append_printf(
                out, "  %-40s %8.2f  %3.0f %%\n", rh_report_memory_name((RhMemoryUse)use),
                rh_text_gib(m->at_peak_bytes[use]), 100 * m->at_peak_bytes[use] / m->peak_bytes);
}

/* "--set lora.rank=16 --set lora.base=nf4" of "lora.rank=16 lora.base=nf4", and "zero=2 in -s" of
 * a layout's key. Caller frees. */
static char *change_words(const char *change)
{
    if (rh_knob_find(change, strcspn(change, "=")))
        return g_strconcat(change, " in -s", NULL);
    g_auto(GStrv) words = g_strsplit(change, " ", -1);
    g_autofree char *joined = g_strjoinv(" --set ", words);
    return g_strconcat("--set ", joined, NULL);
}

static void append_makers(GString *out, const GArray *makers, double without_s)
{
    g_autoptr(RhTable) table = rh_table_new("<>>");
    rh_table_rowf(table, "what makes it fit, fastest first|GiB per GPU|%s",
                  without_s > 0 ? "step time" : "");
    for (guint i = 0; i < makers->len && i < SHOWN_MOST; i++) {
        const RhMemorySaver *s = &g_array_index(makers, RhMemorySaver, i);
        g_autofree char *words = change_words(s->change);
        g_autofree char *step =
            without_s > 0 ? g_strdup_printf("%+.1f %%", 100 * (s->segment_s / without_s - 1))
                          : g_strdup("");
        rh_table_rowf(table, "  %s|%.1f|%s", words, rh_text_gib(s->peak_bytes), step);
    }
    g_string_append_c(out, '\n');
    rh_table_append(table, out, "");
}

/* Does a change put other numbers in the place of those of training as asked? */
static bool changes_numerics(const char *change)
{
    static const char *const words[] = {
        "moments=", "gradients=", "weights=", "masters=", "dtype", "lora.base=", "fp8", "int4"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(change, words[i]))
            return true;
    return false;
}

/* Appends which of the changes, words between commas, are of number formats. */
static void append_numerics(GString *out, const char *changes)
{
    g_autofree char *line = g_strdup_printf("note: %s changes the numerics; the effect on the "
                                            "model's quality is not predicted",
                                            changes);
    rh_text_wrap(out, line, 2, 79);
}

static void append_makers_numerics(GString *out, const GArray *makers)
{
    g_autoptr(GString) changes = g_string_new(NULL);
    for (guint i = 0; i < MIN(makers->len, SHOWN_MOST); i++) {
        const char *change = g_array_index(makers, RhMemorySaver, i).change;
        if (changes_numerics(change))
            g_string_append_printf(changes, "%s%s", changes->len > 0 ? " or " : "", change);
    }
    if (changes->len > 0)
        append_numerics(out, changes->str);
}

/* The words that give the platform nodes for so many GPUs; NULL: it has them. Caller frees. */
static char *wider_platform(const RhQuestion *q, int32_t gpus)
{
    int32_t each = q->hardware->gpus_per_node;
    return gpus > rh_platform_gpus(q->hardware)
               ? rh_report_nodes_words(q->platform_spec, (gpus + each - 1) / each)
               : NULL;
}

/* "--gpus 24 -p dgx-h100:3: at least 53.6 GiB per GPU, with tp8 pp3 dp1, ... (16 GPUs: at least
 * 80.2)" */
static void append_change(GString *out, const RhMemoryFit *f, const RhSmallestChange *change)
{
    g_autofree char *word = rh_report_change(change), *title = rh_layout_title(&change->layout),
                    *peak = rh_text_number(rh_text_gib(change->peak_bytes), 3);
    g_autoptr(GString) line = g_string_new("  ");
    g_string_append(line, word);
    g_autofree char *wider =
        change->kind == RH_CHANGE_GPUS ? wider_platform(f->q, (int32_t)change->value) : NULL;
    if (wider)
        g_string_append_printf(line, " %s", wider);
    g_string_append_printf(line, ": at least %s GiB per GPU, with %s", peak, title);
    if (change->short_value > f->q->c->job.gpus) {
        g_autofree char *lacks = rh_text_number(rh_text_gib(change->short_bytes), 3);
        g_autofree char *safe = rh_text_number(rh_text_gib(f->q->safe_bytes), 3);
        g_string_append_printf(line,
                               "; %" G_GINT64_FORMAT " GPUs are too few: they need at least %s GiB "
                               "each, and --risk allows %s",
                               change->short_value, lacks, safe);
    }
    rh_text_wrap(out, line->str, 4, 79);
}

static void append_adapters(GString *out, const RhAdapterMemory *adapters)
{
    g_autofree char *words = change_words(adapters->fastest.change),
                    *title = rh_layout_title(&adapters->fastest.layout),
                    *peak = rh_text_number(rh_text_gib(adapters->fastest.peak_bytes), 3),
                    *least = rh_text_number(rh_text_gib(adapters->least.peak_bytes), 3);
    g_autofree char *line = g_strdup_printf(
        "  %s: at least %s GiB per GPU; the fastest usual layout that fits uses %s GiB: %s", words,
        least, peak, title);
    rh_text_wrap(out, line, 4, 79);
}

static void append_room(GString *out, const RhMemoryFit *f)
{
    if (f->room_makers && f->room_makers->len > 0) {
        append_makers(out, f->room_makers, f->r->step_time_s);
        append_makers_numerics(out, f->room_makers);
    }
    if (f->other) {
        g_autofree char *title = rh_layout_title(&f->other->layout);
        g_autofree char *line =
            g_strdup_printf("the fastest of the usual layouts that fit: %s, %.1f GiB per GPU",
                            title, rh_text_gib(f->other->memory.peak_bytes));
        g_string_append_c(out, '\n');
        rh_text_wrap(out, line, 2, 79);
    }
    if (f->plan && f->plan->changes->len > 0) {
        g_string_append(out, "\nwhat makes it fit, smallest change first\n");
        bool narrows = false;
        for (guint i = 0; i < f->plan->changes->len; i++) {
            const RhSmallestChange *change = g_ptr_array_index(f->plan->changes, i);
            append_change(out, f, change);
            narrows |= change->kind == RH_CHANGE_GRADIENTS;
        }
        if (narrows)
            append_numerics(out, "gradients=bf16");
    }
    if (f->adapters && f->adapters->len > 0) {
        g_string_append_printf(out, "\nLoRA adapters trained in place of the weights, on %s\n",
                               f->q->c->job.gpus == 1 ? "this GPU" : "these GPUs");
        for (guint i = 0; i < f->adapters->len; i++)
            append_adapters(out, &g_array_index(f->adapters, RhAdapterMemory, i));
        append_numerics(out, "lora.base=nf4 (frozen weights in 4 bits)");
    }
}

/* Appends the command that finds or times layouts: of the question, or of the smallest change. */
static void append_next(GString *out, const RhMemoryFit *f)
{
    RhNextPlan next = {.q = f->q,
                       .command = "plan",
                       .platform = f->q->platform_spec,
                       .gpus = f->q->c->job.gpus,
                       .global_batch = f->q->c->job.global_batch,
                       .sequence = f->q->c->job.sequence};
    const RhSmallestChange *change =
        f->plan && f->plan->changes->len > 0 ? g_ptr_array_index(f->plan->changes, 0) : NULL;
    g_autofree char *wider = NULL;
    if (rh_memory_fit_holds(f) || f->other) {
        next.command = !f->strategy || f->other ? "plan" : "simulate";
    } else if (change && change->kind == RH_CHANGE_GPUS) {
        next.gpus = (int32_t)change->value;
        wider = wider_platform(f->q, next.gpus);
        next.nodes = wider;
    } else {
        return;
    }
    g_autofree char *layout =
        strcmp(next.command, "simulate") == 0 ? rh_text_path(f->strategy) : NULL;
    next.layout = layout;
    rh_report_next_plan(out, &next);
}

char *rh_report_memory_fit_text(const RhMemoryFit *f)
{
    GString *out = g_string_new(NULL);
    append_first(out, f);
    if (f->r)
        append_layout(out, f);
    append_job(out, f);
    if (f->r)
        append_parts(out, &f->r->memory, f->r->layout.pp);
    else
        append_states(out, f);
    append_anywhere(out, f);
    if (!rh_memory_fit_holds(f))
        append_room(out, f);
    append_next(out, f);
    return g_string_free(out, FALSE);
}

/* --- training, as JSON --- */

static void put_found(RhJsonWriter *w, const char *key, int64_t value)
{
    if (value > 0)
        rh_json_put_int(w, key, value);
    else
        rh_json_put_null(w, key);
}

static void put_saver(RhJsonWriter *w, const RhMemorySaver *s)
{
    rh_json_put_string(w, "change", s->change);
    rh_put_layout(w, "layout", &s->layout);
    rh_json_put_number(w, "memory_peak_bytes", s->peak_bytes);
    rh_json_put_number(w, "bound_segment_s", s->segment_s);
}

static void put_makers(RhJsonWriter *w, const char *key, const GArray *makers)
{
    rh_json_begin_array(w, key);
    for (guint i = 0; makers && i < makers->len; i++) {
        rh_json_begin_object(w, NULL);
        put_saver(w, &g_array_index(makers, RhMemorySaver, i));
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_adapters(RhJsonWriter *w, const GArray *adapters)
{
    rh_json_begin_array(w, "adapters");
    for (guint i = 0; adapters && i < adapters->len; i++) {
        const RhAdapterMemory *one = &g_array_index(adapters, RhAdapterMemory, i);
        rh_json_begin_object(w, NULL);
        put_saver(w, &one->fastest);
        rh_json_put_number(w, "memory_least_bytes", one->least.peak_bytes);
        rh_put_layout(w, "layout_least", &one->least.layout);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_held(RhJsonWriter *w, const RhRehearsal *r)
{
    rh_put_layout(w, "layout", &r->layout);
    rh_json_put_number(w, "memory_peak_bytes", r->memory.peak_bytes);
    rh_json_put_int(w, "memory_peak_stage", r->memory.stage);
    rh_json_put_number(w, "memory_capacity_bytes", r->memory_capacity_bytes);
    rh_put_or_null(w, "odds_frac", 1 - r->risk_frac, r->odds != NULL);
    rh_put_memory(w, "memory", r->memory.at_peak_bytes);
}

static void put_changes(RhJsonWriter *w, const RhPlan *plan)
{
    rh_json_begin_array(w, "changes");
    for (guint i = 0; plan && i < plan->changes->len; i++) {
        const RhSmallestChange *change = g_ptr_array_index(plan->changes, i);
        g_autofree char *word = rh_report_change(change);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "change", word);
        rh_json_put_number(w, "memory_peak_bytes", change->peak_bytes);
        rh_put_layout(w, "layout", &change->layout);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* With which layouts the largest sizes are reached; null: with the one that was given. */
static void put_anywhere(RhJsonWriter *w, const RhLargestAnywhere *all)
{
    if (!all) {
        rh_json_put_null(w, "largest_layouts");
        return;
    }
    rh_json_begin_object(w, "largest_layouts");
    rh_put_layout(w, "microbatch", &all->at_microbatch);
    if (all->sizes.sequence > 0)
        rh_put_layout(w, "sequence", &all->at_sequence);
    if (all->sizes.lora_rank > 0)
        rh_put_layout(w, "lora_rank", &all->at_rank);
    rh_json_put_bool(w, "cut_short", all->cut_short);
    rh_json_end_object(w);
}

char *rh_report_memory_fit_json(const RhMemoryFit *f)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.memory/1", f->q);
    rh_json_put_bool(w, "fits", rh_memory_fit_holds(f));
    rh_json_put_number(w, "safe_bytes", f->q->safe_bytes);
    if (f->r)
        put_held(w, f->r);
    else
        rh_json_put_null(w, "layout");
    put_found(w, "microbatch_largest", f->reach.microbatch);
    put_found(w, "sequence_longest", f->reach.sequence);
    put_found(w, "lora_rank_largest", f->reach.lora_rank);
    put_anywhere(w, f->anywhere);
    put_makers(w, "room_makers", f->room_makers);
    put_adapters(w, f->adapters);
    put_changes(w, f->plan);
    if (f->other) {
        rh_json_begin_object(w, "fitting");
        put_held(w, f->other);
        rh_json_end_object(w);
    } else {
        rh_json_put_null(w, "fitting");
    }
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- serving --- */

/* A request's tokens are in one group's part of the cache. */
static int64_t context_of(const RhServedMemory *f)
{
    int64_t tokens = f->budget.tokens / f->groups;
    return f->positions > 0 ? MIN(tokens, f->positions) : tokens;
}

static int64_t at_once(const RhServedMemory *f, int64_t tokens)
{
    return tokens > 0 ? MIN(f->budget.tokens / f->groups / tokens * f->groups, f->batch) : 0;
}

static double used_bytes(const RhServedMemory *f)
{
    return f->budget.weight_bytes + f->budget.activation_bytes + f->budget.state_bytes;
}

/* A model whose layers keep nothing for each token has no limit. */
static bool has_cache(const RhServedMemory *f)
{
    return f->budget.blocks < 1 << 30;
}

static void append_served(GString *out, const RhServedMemory *f)
{
    if (!has_cache(f)) {
        g_string_append_printf(out, "fits: %.3g of %.3g GiB/GPU; it needs no KV cache\n",
                               rh_text_gib(used_bytes(f)), rh_text_gib(f->budget.capacity_bytes));
        return;
    }
    g_autofree char *cache = rh_text_count(f->budget.tokens);
    g_autofree char *context = rh_text_count(context_of(f));
    g_autofree char *once = rh_text_count(at_once(f, context_of(f)));
    g_autofree char *used = rh_text_number(rh_text_gib(used_bytes(f)), 3);
    g_autofree char *all = rh_text_number(rh_text_gib(f->budget.capacity_bytes), 3);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line,
                    "fits: %s of %s GiB/GPU without the cache; %s tokens of KV cache%s, longest "
                    "context %s%s, %s such request%s at once",
                    used, all, cache, f->replicas > 1 ? " in each replica" : "", context,
                    context_of(f) == f->positions ? " (the model's most)" : "", once,
                    at_once(f, context_of(f)) == 1 ? "" : "s");
    if (f->sequence > 0) {
        g_autofree char *tokens = rh_text_count(f->sequence);
        g_autofree char *many = rh_text_count(at_once(f, f->sequence));
        g_string_append_printf(line, ", %s at %s tokens%s", many, tokens,
                               at_once(f, f->sequence) == f->batch ? " (the server's limit)" : "");
    }
    rh_text_wrap(out, line->str, 0, 79);
}

static void append_served_part(GString *out, const char *name, double bytes, double all)
{
    if (bytes > 0)
        g_string_append_printf(out, "  %-40s %8.2f  %3.0f %%\n", name, rh_text_gib(bytes),
                               100 * bytes / all);
}

char *rh_report_served_fit_text(const RhServedMemory *f)
{
    GString *out = g_string_new(NULL);
    const RhKvBudget *b = &f->budget;
    if (f->why_not)
        g_string_append_printf(out, "does not fit: %s\n", f->why_not);
    else
        append_served(out, f);
    g_autofree char *line = g_strdup_printf("deployment: %s on %s, %d of %s's GPUs", f->deployment,
                                            f->server, f->gpus, f->q->platform_spec);
    rh_text_wrap(out, line, 2, 79);
    if (f->why_not && changes_numerics(f->why_not))
        append_numerics(out, "a narrower number format");
    if (f->why_not)
        return g_string_free(out, FALSE);
    g_string_append(out, "\nwhat a GPU holds                                GiB  share\n");
    append_served_part(out, "weights", b->weight_bytes, b->capacity_bytes);
    append_served_part(out, "activations and buffers", b->activation_bytes, b->capacity_bytes);
    append_served_part(out, "state of sequences", b->state_bytes, b->capacity_bytes);
    double cache_bytes = has_cache(f) ? b->cache_bytes : 0;
    append_served_part(out, "KV cache", cache_bytes, b->capacity_bytes);
    append_served_part(out, "reserved by the server, or free",
                       b->capacity_bytes - used_bytes(f) - cache_bytes, b->capacity_bytes);
    return g_string_free(out, FALSE);
}

char *rh_report_served_fit_json(const RhServedMemory *f)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    const RhKvBudget *b = &f->budget;
    bool fits = !f->why_not, cached = fits && has_cache(f);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.memory/1", f->q);
    rh_json_put_bool(w, "fits", fits);
    rh_json_put_string(w, "deployment", f->deployment);
    rh_json_put_string(w, "why_not", f->why_not);
    rh_json_put_int(w, "gpus", f->gpus);
    rh_put_or_null(w, "memory_capacity_bytes", b->capacity_bytes, fits);
    rh_put_or_null(w, "weight_bytes", b->weight_bytes, fits);
    rh_put_or_null(w, "activation_bytes", b->activation_bytes, fits);
    rh_put_or_null(w, "state_bytes", b->state_bytes, fits);
    rh_put_or_null(w, "cache_bytes", b->cache_bytes, cached);
    put_found(w, "cache_tokens", cached ? b->tokens : 0);
    put_found(w, "context_longest", cached ? context_of(f) : 0);
    put_found(w, "requests_at_longest", cached ? at_once(f, context_of(f)) : 0);
    put_found(w, "requests_at_once", cached ? at_once(f, f->sequence) : 0);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
