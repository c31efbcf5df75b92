/* Megatron-LM's flags of a layout, in both directions. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/megatron.h"
#include "strategies/layer_partition.h"

/* Figures that Megatron-LM alone has, beside RhLaunchJobField. */
enum {
    JOB_CHUNK_LAYERS = RH_JOB_FIELD_OWN, /* layers of a virtual stage */
    JOB_INSTANCES,                       /* groups of replicas, each with all states */
    JOB_FSDP,
    JOB_SHARING, /* degree of ZeRO of a sharding strategy */
    JOB_OVERLAPS,
    JOB_FULL, /* whole layers are recomputed; 2: modules */
    JOB_BLOCK,
    JOB_AGAIN,
    JOB_EXCHANGE, /* 1: all gather, 2: all to all, 3: both */
    JOB_HIERARCHY,
};

/* --- stages --- */

/* Do stages hold equally many layers each, which is Megatron-LM's default? */
static bool is_even(const RhProblem *c, const RhLayout *l)
{
    return l->stage_layers_count == 0 && l->partition == RH_PARTITION_EVEN &&
           c->model->layers_count % (l->pp * l->vpp) == 0;
}

/* Writes the split, as "Et*7|(t*8|)*14t*7L": the layers of each chunk in the order of the model, E
 * the embedding, t a layer, L the head; equal chunks are counted. */
char *rh_megatron_write_split(const RhLaunchText *t)
{
    if (t->layout->pp == 1 || is_even(t->c, t->layout))
        return NULL;
    int32_t chunks = t->layout->pp * t->layout->vpp;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(t->c, t->layout, layers);
    GString *out = g_string_new(NULL);
    for (int32_t g = 0, times; g < chunks; g += times) {
        bool inner = g > 0 && g < chunks - 1;
        for (times = 1; inner && g + times < chunks - 1 && layers[g + times] == layers[g]; times++)
            ;
        g_autofree char *held = layers[g] ? g_strdup_printf("t*%d", layers[g]) : g_strdup("");
        if (times > 1)
            g_string_append_printf(out, "(%s|)*%d", held, times);
        else
            g_string_append_printf(out, "%s%s%s", g == 0 ? "E" : "", held,
                                   g == chunks - 1 ? "L" : "|");
    }
    return g_string_free(out, FALSE);
}

/* Unfolds "(t|)*3" and "t*3" once; NULL: there is nothing to unfold. Caller frees. */
static char *unfold_once(const char *text)
{
    const char *star = strchr(text, '*');
    if (!star || star == text)
        return NULL;
    const char *from = star - 1;
    if (*from == ')')
        while (from > text && *from != '(')
            from--;
    bool group = *from == '(';
    char *end = NULL;
    int64_t times = g_ascii_strtoll(star + 1, &end, 10);
    g_autofree char *part =
        group ? g_strndup(from + 1, (gsize)(star - from - 2)) : g_strndup(from, 1);
    GString *out = g_string_new_len(text, from - text);
    for (int64_t i = 0; i < MIN(times, 4096) && out->len < 65536; i++)
        g_string_append(out, part);
    g_string_append(out, end);
    return g_string_free(out, FALSE);
}

/* Reads the layers of each chunk. */
void rh_megatron_read_split(RhLaunchReading *r, const char *text)
{
    g_autofree char *flat = g_strdup(text);
    for (char *next; (next = unfold_once(flat)); flat = next) {
        g_free(flat);
        if (strlen(next) >= 65536) {
            g_free(next);
            flat = g_strdup("");
            break;
        }
    }
    int32_t chunks = 1;
    int16_t layers[G_N_ELEMENTS(r->layout.stage_layers)] = {0};
    for (const char *c = flat; *c; c++) {
        if (*c == '|' && chunks < (int32_t)G_N_ELEMENTS(layers))
            chunks++;
        else if (*c == 't')
            layers[chunks - 1]++;
        else if (!strchr("ELm, '\"", *c)) {
            rh_launch_problem(r, "such as 'Et*7|(t*8|)*14t*7L'", "no layout of stages has a \"%c\"",
                              *c);
            return;
        }
    }
    memcpy(r->layout.stage_layers, layers, sizeof layers);
    r->layout.stage_layers_count = chunks;
    r->given |= RH_KNOB_BIT(stage_layers_count);
}

char *rh_megatron_write_chunks(const RhLaunchText *t)
{
    return t->layout->vpp > 1 && is_even(t->c, t->layout) ? g_strdup_printf("%d", t->layout->vpp)
                                                          : NULL;
}

void rh_megatron_read_chunks(RhLaunchReading *r, const char *text)
{
    int64_t chunks = 1;
    if (rh_launch_read_number(r, text, &chunks))
        rh_launch_store(r, RH_ROW_KNOB(vpp), chunks);
}

void rh_megatron_read_chunk_layers(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->job[JOB_CHUNK_LAYERS]);
}

/* Notes stages that are said by the layers of the first and the last. */
void rh_megatron_read_uneven(RhLaunchReading *r, const char *text)
{
    rh_launch_tell(r, "%s %s: stages are simulated as even as can be; -s stages=... says them",
                   r->at->name, text);
}

/* Reads that the embedding, or the head, counts as a layer of its stage. */
void rh_megatron_read_counted(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_store(r, RH_ROW_KNOB(partition), RH_PARTITION_UNIFORM);
}

/* --- context parallelism --- */

char *rh_megatron_write_exchange(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    return l->ulysses > 1             ? g_strdup(l->ulysses == l->cp ? "a2a" : "a2a+p2p")
           : l->kv == RH_CONTEXT_RING ? NULL
                                      : g_strdup("all_gather");
}

void rh_megatron_read_exchange(RhLaunchReading *r, const char *text)
{
    static const char *const names[] = {"p2p", "all_gather", "a2a", "a2a+p2p"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(text, names[i]) == 0) {
            r->job[JOB_EXCHANGE] = (int64_t)i;
            return;
        }
    rh_launch_problem(r, "p2p, all_gather, a2a or a2a+p2p", "no %s is \"%s\"", r->at->name, text);
}

char *rh_megatron_write_hierarchy(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    return l->ulysses > 1 && l->ulysses < l->cp
               ? g_strdup_printf("%d %d", l->ulysses, l->cp / l->ulysses)
               : NULL;
}

void rh_megatron_read_hierarchy(RhLaunchReading *r, const char *text)
{
    const char *start = text + strspn(text, "[( '\"");
    g_autofree char *first = g_strndup(start, strcspn(start, " ,"));
    (void)rh_launch_read_number(r, first, &r->job[JOB_HIERARCHY]);
}

/* --- experts --- */

void rh_megatron_read_dispatcher(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "deepep") == 0)
        rh_launch_store(r, RH_ROW_KNOB(dispatch), RH_DISPATCH_DEEPEP);
    else
        rh_launch_tell(r, "the dispatcher %s is simulated as an all to all", text);
}

/* --- ZeRO: reductions and gathers overlap in the simulation, so they do here --- */

char *rh_megatron_write_shared(const RhLaunchText *t)
{
    bool hosted = t->layout->states != RH_PLACE_DEVICE; /* with one replica zero says nothing */
    return t->layout->zero >= 1 || hosted ? g_strdup("") : NULL;
}

void rh_megatron_read_shared(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_store(r, RH_ROW_KNOB(zero), MAX(r->layout.zero, 1));
}

char *rh_megatron_write_fsdp(const RhLaunchText *t)
{
    return t->layout->zero >= 2 ? g_strdup("") : NULL;
}

void rh_megatron_read_fsdp(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FSDP] = rh_launch_read_switch(text);
}

void rh_megatron_read_torch_fsdp(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_store(r, RH_ROW_KNOB(zero), 3);
}

char *rh_megatron_write_overlap(const RhLaunchText *t)
{
    return t->layout->zero > 0 || t->layout->dp > 1 ? g_strdup("") : NULL;
}

void rh_megatron_read_overlap(RhLaunchReading *r, const char *text)
{
    r->job[JOB_OVERLAPS] = rh_launch_read_switch(text);
}

static const char *const strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};

char *rh_megatron_write_strategy(const RhLaunchText *t)
{
    return t->layout->zero >= 2 ? g_strdup(strategies[t->layout->zero]) : NULL;
}

void rh_megatron_read_strategy(RhLaunchReading *r, const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(strategies); i++)
        if (strcmp(text, strategies[i]) == 0) {
            r->job[JOB_SHARING] = (int64_t)i;
            return;
        }
    rh_launch_problem(r, "no_shard, optim, optim_grads or optim_grads_params", "no %s is \"%s\"",
                      r->at->name, text);
}

/* Writes the sharding. Neighbours form a group, as they do here. */
char *rh_megatron_write_instances(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    return l->shard > 0 ? g_strdup_printf("%d", rh_train_replicas(l) / l->shard) : NULL;
}

void rh_megatron_read_instances(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->job[JOB_INSTANCES]);
}

/* --- recomputation --- */

/* Number of recomputed layers of every chunk, if all are equal; -1: they are not. */
static int32_t again_everywhere(const RhProblem *c, const RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp, most = 0;
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(c, l, layers);
    for (int32_t g = 0; g < chunks; g++)
        most = MAX(most, rh_layout_again(l, g, layers[g]));
    for (int32_t g = 0; g < chunks; g++)
        if (rh_layout_again(l, g, layers[g]) != MIN(most, layers[g]))
            return -1;
    return most;
}

char *rh_megatron_write_granularity(const RhLaunchText *t)
{
    uint32_t modules = (uint32_t)t->layout->recompute;
    return modules == RH_RECOMPUTE_NONE
               ? NULL
               : g_strdup(modules == RH_RECOMPUTE_FULL ? "full" : "selective");
}

void rh_megatron_read_granularity(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "full") == 0 || strcmp(text, "selective") == 0)
        r->job[JOB_FULL] = text[0] == 'f' ? 1 : 2;
    else if (rh_launch_read_switch(text))
        rh_launch_problem(r, "full or selective", "no %s is \"%s\"", r->at->name, text);
}

char *rh_megatron_write_method(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    return (uint32_t)l->recompute == RH_RECOMPUTE_FULL
               ? g_strdup(l->recomputed_layers_count != 0 ? "block" : "uniform")
               : NULL;
}

void rh_megatron_read_method(RhLaunchReading *r, const char *text)
{
    r->job[JOB_BLOCK] = strcmp(text, "block") == 0;
}

char *rh_megatron_write_again(const RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    if ((uint32_t)l->recompute != RH_RECOMPUTE_FULL)
        return NULL;
    return g_strdup_printf("%d", l->recomputed_layers_count != 0 ? again_everywhere(t->c, l) : 1);
}

void rh_megatron_read_again(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->job[JOB_AGAIN]);
}

/* Writes the modules; without a list they are attention's core. */
char *rh_megatron_write_modules(const RhLaunchText *t)
{
    uint32_t modules = (uint32_t)t->layout->recompute;
    if (modules == RH_RECOMPUTE_NONE || modules == RH_RECOMPUTE_FULL ||
        modules == RH_RECOMPUTE_SELECTIVE)
        return NULL;
    GString *names = g_string_new(NULL);
    for (int bit = 0; rh_recompute_modules[bit]; bit++)
        if (modules >> bit & 1)
            g_string_append_printf(names, "%s%s", names->len > 0 ? " " : "",
                                   rh_recompute_modules[bit]);
    return g_string_free(names, FALSE);
}

void rh_megatron_read_modules(RhLaunchReading *r, const char *text)
{
    g_auto(GStrv) words = g_strsplit_set(text, " ,[]'\"", -1);
    uint32_t modules = 0;
    for (char **word = words; *word; word++) {
        int bit = 0;
        while (**word && rh_recompute_modules[bit] && strcmp(rh_recompute_modules[bit], *word) != 0)
            bit++;
        if (**word && rh_recompute_modules[bit])
            modules |= 1u << bit;
        else if (**word)
            rh_launch_tell(r, "recomputation of %s is not simulated", *word);
    }
    if (modules != 0)
        r->layout.recompute = (RhRecompute)modules;
}

void rh_megatron_read_activations(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        r->job[JOB_FULL] = 2;
}

void rh_megatron_read_checkpoint(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        r->job[JOB_FULL] = 1;
}

static void finish_recompute(RhLaunchReading *r)
{
    RhLayout *l = &r->layout;
    r->given |= RH_KNOB_BIT(recompute);
    if (r->job[JOB_FULL] < 0)
        l->recompute = RH_RECOMPUTE_NONE;
    else if (r->job[JOB_FULL] == 1)
        l->recompute = RH_RECOMPUTE_FULL;
    else if (l->recompute == RH_RECOMPUTE_NONE)
        l->recompute = RH_RECOMPUTE_SELECTIVE;
    if (r->job[JOB_FULL] != 1 || r->job[JOB_BLOCK] != 1 || r->job[JOB_AGAIN] <= 0)
        return;
    l->recomputed_layers_count = 1;
    l->recomputed_layers[0] = (int16_t)MIN(r->job[JOB_AGAIN], INT16_MAX);
    r->given |= RH_KNOB_BIT(recomputed_layers_count);
}

/* --- what is worked out when all is read --- */

static void finish_context(RhLaunchReading *r)
{
    int64_t how = r->job[JOB_EXCHANGE];
    if (how == 1)
        rh_launch_store(r, RH_ROW_KNOB(kv), RH_CONTEXT_GATHER);
    if (how == 2)
        rh_launch_store(r, RH_ROW_KNOB(ulysses), r->layout.cp);
    if (how == 3 && r->job[JOB_HIERARCHY] > 0)
        rh_launch_store(r, RH_ROW_KNOB(ulysses), r->job[JOB_HIERARCHY]);
}

static void finish_sharing(RhLaunchReading *r)
{
    int64_t sharing = r->job[JOB_SHARING];
    RhLayout *l = &r->layout;
    if (r->job[JOB_FSDP] == 1)
        rh_launch_store(r, RH_ROW_KNOB(zero), sharing >= 0 ? sharing : 3);
    else if (l->zero == 0)
        r->given |= RH_KNOB_BIT(zero);
    int64_t ranks = rh_launch_times(l->tp, l->pp), replicas = r->job[RH_JOB_FIELD_GPUS] / ranks;
    if (r->job[JOB_INSTANCES] > 1 && replicas % r->job[JOB_INSTANCES] == 0 && replicas > 0)
        rh_launch_store(r, RH_ROW_KNOB(shard), replicas / r->job[JOB_INSTANCES]);
    if (r->job[JOB_OVERLAPS] != 1 && r->job[RH_JOB_FIELD_GPUS] > rh_launch_times(ranks, l->cp))
        rh_launch_tell(r, "without --overlap-grad-reduce gradients are summed after the step's "
                          "work; simulated is that they are summed beside it");
}

/* Works out the chunks of stages that are given by their layers. */
static void finish_chunks(RhLaunchReading *r)
{
    RhLayout *l = &r->layout;
    int64_t held = r->job[JOB_CHUNK_LAYERS], layers = r->sizes[RH_SIZE_LAYERS];
    if (held > 0 && layers > 0 && layers % (held * l->pp) == 0)
        rh_launch_store(r, RH_ROW_KNOB(vpp), layers / (held * l->pp));
    else if (held > 0)
        rh_launch_tell(r, "how many virtual stages a rank has cannot be told: say vpp in -s");
    if (l->stage_layers_count > 0) {
        if (l->stage_layers_count % l->pp == 0)
            rh_launch_store(r, RH_ROW_KNOB(vpp), l->stage_layers_count / l->pp);
    }
    if (l->vpp > 1)
        rh_launch_store(r, RH_ROW_KNOB(schedule), RH_PIPELINE_INTERLEAVED);
}

void rh_megatron_finish(RhLaunchReading *r)
{
    finish_context(r);
    finish_sharing(r);
    finish_recompute(r);
    finish_chunks(r);
    rh_megatron_finish_model(r);
    rh_megatron_finish_job(r);
}

/* --- refused layouts, and flags that nothing depends on --- */

/* Checks what a flag of Megatron-LM cannot say. Transformer Engine gives every rank some key-value
 * heads, and repeats none. */
bool rh_megatron_check_layout(const RhProblem *c, const RhLayout *l, GError **error)
{
    for (int k = 0; l->ulysses > 1 && k < c->model->kinds_count; k++)
        if (c->model->kinds[k].kv_heads % (l->tp * l->ulysses) != 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "Megatron-LM repeats no key-value heads: tp=%d x ulysses=%d does not "
                           "divide the %d of %s",
                           l->tp, l->ulysses, c->model->kinds[k].kv_heads, c->model->name);
    if (l->recomputed_layers_count != 0 &&
        ((uint32_t)l->recompute != RH_RECOMPUTE_FULL || again_everywhere(c, l) < 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM recomputes whole layers, as many of every chunk\n"
                       "help: recompute=full with one number for relayers");
    return true;
}

void rh_megatron_say_rest(RhLaunchText *t)
{
    int32_t zero = t->layout->zero;
    if (zero >= 1)
        rh_launch_write(t, "--overlap-param-gather");
    if (zero >= 2)
        rh_launch_write(t, "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor");
    if (zero == 3)
        rh_launch_write(t, "--init-model-with-meta-device");
    rh_megatron_say_formats(t);
}
