#include "validate/cases/cases_translate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/units.h"
#include "calibrate/stacks/steps_task.h"
#include "platforms/catalogue_names.h"
#include "validate/cases/case_row.h"

struct RhTranslator {
    RhCaseFacts *facts;
    GHashTable *models;    /* text -> RhModel*, both owned */
    GHashTable *platforms; /* text -> RhPlatform* (a stack's view), both owned */
    GHashTable *stacks;    /* text -> RhStack* with other constants, both owned */
    GStringChunk *keys;
    const RhStepModel *constants; /* laid over; NULL: none */
    const char *constants_name;   /* "": none */
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
    t->constants_name = "";
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
    t->constants = constants;
    t->constants_name = constants ? name : "";
}

/* --- the model --- */

/* Name in the catalogue that equals the row's, ignoring case and punctuation. */
static const char *catalogue_model(const char *text)
{
    const char *const *names = rh_model_names();
    for (int i = 0; names[i]; i++)
        if (g_ascii_strcasecmp(names[i], text) == 0)
            return names[i];
    return NULL;
}

/* Sizes that a row may give, and the settings of a model that they change. */
static const struct {
    RhCaseColumn column;
    const char *key;
} sizes[] = {{RH_CASE_LAYERS, "layers"},     {RH_CASE_HIDDEN, "hidden"}, {RH_CASE_HEADS, "heads"},
             {RH_CASE_KV_HEADS, "kv_heads"}, {RH_CASE_FFN, "ffn"},       {RH_CASE_VOCAB, "vocab"}};

/* Does a size of the row mean the model's? A mixture's ffn column holds an expert's width, and
 * heads may be latent: for such models only layers and vocabulary count. */
static bool size_is_ours(const RhModel *model, RhCaseColumn column)
{
    if (model->kinds_count > 1 && column == RH_CASE_LAYERS && !rh_model_experts_kind(model))
        return false;
    return (model->kinds_count == 1 && !rh_model_experts_kind(model)) || column == RH_CASE_LAYERS;
}

static bool set_text(Way *w, RhModel *model, const char *key, const char *text)
{
    GError *local = NULL;
    return rh_model_set(model, key, text, &local) ||
           rh_case_give_up_with(&w->way, "model: ", local);
}

static bool set_size(Way *w, RhModel *model, const char *key, int64_t value)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    return set_text(w, model, key, text);
}

/* Sets a size that has no column: "first_k_dense_replace=1". */
static bool set_said_size(Way *w, RhModel *model)
{
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_SIZE);
    g_auto(GStrv) parts = g_strsplit(said ? said : "", "=", 2);
    return !parts[0] || set_text(w, model, parts[0], parts[1] ? parts[1] : "");
}

static int64_t size_of(const RhModel *model, RhCaseColumn column)
{
    const RhLayerKind *attention = rh_model_attention_kind(model), *ffn = rh_model_ffn_kind(model);
    switch ((int)column) {
    case RH_CASE_LAYERS:
        return model->layers_count;
    case RH_CASE_HIDDEN:
        return model->hidden;
    case RH_CASE_HEADS:
        return attention->heads;
    case RH_CASE_KV_HEADS:
        return attention->kv_heads;
    case RH_CASE_FFN:
        return ffn->ffn_width;
    default:
        return model->vocab;
    }
}

/* Sets another width and its heads. Either alone would be refused, so it first sets one head. */
static bool set_width(Way *w, RhModel *model)
{
    int64_t hidden = w->way.row->whole[RH_CASE_HIDDEN], heads = w->way.row->whole[RH_CASE_HEADS],
            kv_heads = w->way.row->whole[RH_CASE_KV_HEADS];
    bool grouped = size_of(model, RH_CASE_KV_HEADS) != size_of(model, RH_CASE_HEADS) ||
                   (kv_heads > 0 && kv_heads != heads);
    if (hidden == 0 || heads == 0 || !size_is_ours(model, RH_CASE_HIDDEN) ||
        (hidden == model->hidden && heads == size_of(model, RH_CASE_HEADS)))
        return true;
    rh_ignore_failure(rh_model_set(model, "kv_heads", "1", NULL)); /* where the model has them */
    return set_size(w, model, "heads", 1) && set_size(w, model, "hidden", hidden) &&
           set_size(w, model, "heads", heads) &&
           (!grouped || kv_heads == 0 || set_size(w, model, "kv_heads", kv_heads));
}

static bool size_model(Way *w, RhModel *model)
{
    if (!set_width(w, model))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        int64_t value = w->way.row->whole[sizes[i].column];
        if (value == 0 || !size_is_ours(model, sizes[i].column) ||
            value == size_of(model, sizes[i].column))
            continue;
        if (!set_size(w, model, sizes[i].key, value))
            return false;
    }
    if (!set_said_size(w, model))
        return false;
    int64_t seq = w->way.row->whole[RH_CASE_SEQ];
    return seq <= model->positions || model->position != RH_POSITION_LEARNED ||
           set_size(w, model, "positions", seq);
}

static bool say_model(Way *w)
{
    GError *local = NULL;
    const char *name = rh_case_says(&w->way, RH_CASE_SAYS_MODEL);
    g_autoptr(GString) key = g_string_new(NULL);
    if (w->way.row->model) {
        w->out->c.model = w->way.row->model;
        w->model_key = g_strdup(w->way.row->model->name);
        return true;
    }
    if (!name)
        name = catalogue_model(rh_case_cell(&w->way, RH_CASE_MODEL));
    bool sized = w->way.row->whole[RH_CASE_LAYERS] > 0 && w->way.row->whole[RH_CASE_HIDDEN] > 0;
    if (!name)
        return rh_case_give_up(&w->way, "model %s: not in the catalogue, and %s",
                               rh_case_cell(&w->way, RH_CASE_MODEL),
                               sized ? "of no family that its name tells"
                                     : "without layers and hidden its name tells no family");
    const char *size = rh_case_says(&w->way, RH_CASE_SAYS_SIZE);
    g_string_append_printf(key, "%s %" G_GINT64_FORMAT " %s", name, w->way.row->whole[RH_CASE_SEQ],
                           size ? size : "");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        g_string_append_printf(key, " %" G_GINT64_FORMAT, w->way.row->whole[sizes[i].column]);
    RhModel *model = g_hash_table_lookup(w->t->models, key->str);
    if (!model) {
        model = rh_model_load(name, &local);
        if (!model)
            return rh_case_give_up_with(&w->way, "model: ", local);
        if (!size_model(w, model)) {
            rh_model_free(model);
            return false;
        }
        g_hash_table_insert(w->t->models, g_strdup(key->str), model);
    }
    w->out->c.model = model;
    w->model_key = g_string_free(g_steal_pointer(&key), FALSE);
    return true;
}

/* --- machine --- */

/* Nodes of a device as the catalogue's nearest platform has them: "h100-sxm:8x4", "gb200:72x1".
 * Caller frees; NULL and the reason. */
static char *device_text(Way *w, const char *device, int64_t gpus)
{
    GError *local = NULL;
    g_autoptr(RhDevice) d = rh_device_load(device, &local);
    g_autoptr(RhPlatform) node = d ? rh_platform_load(rh_device_platform(d), &local) : NULL;
    if (!node) {
        rh_case_give_up_with(&w->way, "platform: ", local);
        return NULL;
    }
    int64_t each = node->gpus_per_node;
    return g_strdup_printf("%s:%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, device, each,
                           (gpus + each - 1) / each);
}

/* Platform of a rule for a job of so many GPUs: racks of which it takes 64 GPUs each, or all 72
 * where that alone divides it. */
static const char *said_platform(const char *said, int64_t gpus)
{
    bool whole = gpus % 72 == 0 && gpus % 64 != 0;
    if (whole && g_strcmp0(said, "gb200-nvl64") == 0)
        return "gb200-nvl72";
    return whole && g_strcmp0(said, "gb300-nvl64") == 0 ? "gb300-nvl72" : said;
}

/* Does the cell name a card, PCIe or NVL, where the rule's platform has another form factor? */
static bool other_form(const char *cell, const char *platform)
{
    static const char *const forms[] = {"pcie", "nvl"};
    g_autoptr(RhPlatform) p = rh_platform_load(platform, NULL);
    g_autofree char *lower = g_ascii_strdown(cell, -1);
    g_auto(GStrv) words = g_strsplit_set(lower, " -_", -1);
    for (size_t i = 0; p && i < G_N_ELEMENTS(forms); i++)
        if (g_strv_contains((const char *const *)words, forms[i]) &&
            !strstr(p->device->name, forms[i]))
            return true;
    return false;
}

/* Platform with enough nodes for the job: "dgx-a100:8", "h100-sxm:8x4". Caller frees; NULL and the
 * reason. */
static char *platform_text(Way *w)
{
    GError *local = NULL;
    int64_t gpus = w->way.row->whole[RH_CASE_GPUS];
    const char *cell = rh_case_cell(&w->way, RH_CASE_GPU);
    const char *name = said_platform(rh_case_says(&w->way, RH_CASE_SAYS_PLATFORM), gpus);
    g_autofree char *lower = g_ascii_strdown(cell, -1);
    if (name && other_form(cell, name))
        name = NULL;
    if (!name && g_strv_contains(rh_device_names(), lower))
        return g_strdup_printf("%s:8x%" G_GINT64_FORMAT, lower, (gpus + 7) / 8);
    if (!name)
        name = rh_platform_of_name(cell);
    if (!name) {
        const char *device = rh_device_of_name(cell, false, NULL);
        if (device)
            return device_text(w, device, gpus);
        rh_case_give_up(&w->way, "gpu %s: not in the catalogue", cell);
        return NULL;
    }
    g_autoptr(RhPlatform) one = rh_platform_load(name, &local);
    if (!one) {
        rh_case_give_up_with(&w->way, "platform: ", local);
        return NULL;
    }
    return g_strdup_printf("%s:%" G_GINT64_FORMAT, name,
                           (gpus + one->gpus_per_node - 1) / one->gpus_per_node);
}

/* Sets a fact: "nic.efficiency=0.5". */
static bool set_fact(RhPlatform *platform, const char *said, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(said, "=", 2);
    return !said[0] || rh_platform_set(platform, parts[0], parts[1] ? parts[1] : "", error);
}

/* Sets the clock of a device that was fitted to steps, unless its stack has one of its own. */
static void lay_clock(const RhTranslator *t, const RhDevice *bare, RhDevice *device)
{
    const RhStepClock *clock =
        t->constants ? rh_step_model_clock((RhStepModel *)t->constants, device->name) : NULL;
    RhFact *fact = &device->curves.sustained_clock_frac;
    if (!clock || fact->tag != RH_TAG_FITTED ||
        fact->value != bare->curves.sustained_clock_frac.value)
        return;
    fact->value = clock->clock_frac.value;
    rh_device_refresh(device);
}

static bool say_platform(Way *w)
{
    GError *local = NULL;
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_SET), *own = said ? said : "";
    g_autofree char *text = platform_text(w);
    if (!text)
        return false;
    g_autofree char *key =
        g_strjoin(" ", w->out->c.stack->name, "on", text, own, w->t->constants_name, NULL);
    RhPlatform *view = g_hash_table_lookup(w->t->platforms, key);
    if (!view) {
        g_autoptr(RhPlatform) bare = rh_platform_load(text, &local);
        if (!bare || !set_fact(bare, own, &local))
            return rh_case_give_up_with(&w->way, "platform: ", local);
        view = rh_stack_platform(w->out->c.stack, bare);
        lay_clock(w->t, bare->device, view->device);
        g_hash_table_insert(w->t->platforms, g_steal_pointer(&key), view);
    }
    w->out->c.platform = view;
    return true;
}

/* Returns a stack with the constants that it has of the fitted one. */
static const RhStack *lay_constants(const RhTranslator *t, const RhStack *stack)
{
    if (!t->constants)
        return stack;
    g_autofree char *key = g_strdup_printf("%s %s", stack->name, t->constants_name);
    RhStack *copy = g_hash_table_lookup(t->stacks, key);
    if (copy)
        return copy;
    copy = g_memdup2(stack, sizeof *stack);
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++) {
        const RhFact *fitted =
            (const RhFact *)(const void *)((const char *)&t->constants->stack + s->offset);
        RhFact *own = (RhFact *)(void *)((char *)copy + s->offset);
        if (own->source == fitted->source)
            own->value = fitted->value;
    }
    g_hash_table_insert(t->stacks, g_steal_pointer(&key), copy);
    return copy;
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

/* Factor of a peak over the tensors: "allocated", "reserved=1.053". */
static double peak_over_tensors(const char *peak)
{
    if (!peak)
        return 0;
    const char *over = strchr(peak, '=');
    return over ? g_ascii_strtod(over + 1, NULL) : 1;
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
        w->t->constants_name, w->model_key, o->c.platform->name, o->c.stack->name, o->c.job.gpus,
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
