/* The space of layouts, and the constraints on it. */
#include <gsl/gsl_rng.h>
#include <string.h>

#include "base/error.h"
#include "strategies/layer_partition.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhLayout *at(GArray *space, guint i)
{
    return &g_array_index(space, RhLayout, i);
}

/* How many different splits of its layers the partitions of a layout make; compared by what each chunk holds. */
static guint splits_count(const RhProblem *c, const RhLayout *asked)
{
    int32_t chunks = asked->pp * asked->vpp;
    g_autoptr(GHashTable) splits = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    RhLayout l = *asked;
    for (l.partition = RH_PARTITION_EVEN; l.partition < RH_PARTITION_LAST; l.partition++) {
        g_autoptr(GString) text = g_string_new(NULL);
        rh_partition_layers(c, &l, layers);
        for (int32_t i = 0; i < chunks; i++)
            g_string_append_printf(text, "%d ", layers[i]);
        g_hash_table_add(splits, g_strdup(text->str));
    }
    return g_hash_table_size(splits);
}

/* Every tuple of knobs that could be legal, kept when legal and canonical. */
static guint count_by_brute_force(const TrainKit *k)
{
    int32_t samples = (int32_t)k->c.job.global_batch, most_vpp = k->c.model->layers_count + 2;
    guint count = 0;
    RhLayout l = rh_layout_default();
    for (l.tp = 1; l.tp <= k->c.job.gpus; l.tp++)
        for (l.pp = 1; l.pp <= k->c.job.gpus; l.pp++)
            for (l.dp = 1; l.dp <= k->c.job.gpus; l.dp++)
                for (l.vpp = 1; l.vpp <= most_vpp; l.vpp++)
                    for (l.microbatch = 1; l.microbatch <= samples; l.microbatch++)
                        for (l.zero = 0; l.zero < 4; l.zero++)
                            for (int rest = 0; rest < 3 * 3 * 2 * 2; rest++) {
                                l.recompute = (RhRecompute)(rest % 3);
                                l.schedule = (RhPipelineKind)(1 + rest / 3 % 3);
                                l.sequence_parallel = rest / 9 % 2 != 0;
                                l.order = (RhOrder)(1 + rest / 18);
                                RhLayout canonical = rh_train_canonical(&k->c, &l);
                                if (rh_layout_equal(&canonical, &l) &&
                                    rh_train_legal(&k->c, &l, NULL))
                                    count += splits_count(&k->c, &l);
                            }
    return count;
}

static void the_space_is_every_canonical_legal_layout(void)
{
    static const struct {
        const char *platform;
        int64_t batch;
        bool narrow; /* weights of 8 bits, which the optimizer's shares are gathered in */
    } rows[] = {{"h100-sxm:4x1,nvlink:450GB/s", RH_TRIES(16, 8), false},
                {"h100-sxm:4x1,nvlink:450GB/s", 8, true},
                {"h100-sxm:2x1,nvlink:450GB/s", RH_TRIES(90, 30), false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("llama-3.2-1b", rows[i].platform, "megatron", rows[i].batch, 2048);
        k.c.job.narrow_weights = rows[i].narrow;
        k.c.job.recipe = rh_recipe_by_name(rows[i].narrow ? "fp8" : "bf16");
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        CU_ASSERT_EQUAL(space->len, count_by_brute_force(&k));
        CU_ASSERT_TRUE(space->len > 100);
    }
}

static void a_stack_without_sequence_parallelism_has_none(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron-2021", 16, 2048);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(space->len > 100);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_FALSE(at(space, i)->sequence_parallel);
    RhLayout l = train_layout(&k, "tp4");
    CU_ASSERT_FALSE(l.sequence_parallel);
    l.sequence_parallel = true;
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
}

/* Megatron-FSDP knows no stages; without a stack everything runs. */
static void megatron_shards_gradients_without_stages_only(void)
{
    static const struct {
        const char *stack;
        bool staged;
    } rows[] = {{"megatron", false}, {"bare", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", rows[i].stack, 16, 2048);
        g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
        bool staged = false, alone = false;
        for (guint l = 0; l < space->len; l++) {
            staged |= at(space, l)->zero >= 2 && at(space, l)->pp > 1;
            alone |= at(space, l)->zero >= 2 && at(space, l)->pp == 1;
        }
        CU_ASSERT_EQUAL(staged, rows[i].staged);
        CU_ASSERT_TRUE(alone);
    }
}

static void no_layout_is_listed_twice(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 4096);
    g_autoptr(GArray) space = rh_space_list(&k.c, NULL, 0);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_TRUE(g_hash_table_add(seen, rh_layout_format(at(space, i))));
}

static void constraints_hold(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 4096);
    RhConstraint c[3];
    CU_ASSERT_TRUE(rh_constraint_parse("tp=4", false, &c[0], NULL));
    CU_ASSERT_TRUE(rh_constraint_parse("pp<=2", true, &c[1], NULL));
    CU_ASSERT_TRUE(rh_constraint_parse("recompute=full", false, &c[2], NULL));
    g_autoptr(GArray) space = rh_space_list(&k.c, c, 3);
    CU_ASSERT_TRUE(space->len > 0);
    for (guint i = 0; i < space->len; i++)
        CU_ASSERT_TRUE(at(space, i)->tp == 4 && at(space, i)->pp <= 2 &&
                       at(space, i)->recompute == RH_RECOMPUTE_FULL);
    static const char *const wrong[] = {"tp",    "tp<4", "qq=1", "tp=x",        "memory=90%",
                                        "tp>=2", "=",    "",     "recompute=9", "tp=2,pp=2"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_constraint_parse(wrong[i], false, &c[0], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

static void memory_has_only_an_upper_limit(void)
{
    RhConstraint c = {0};
    CU_ASSERT_TRUE(rh_constraint_parse("memory<=90%", true, &c, NULL));
    CU_ASSERT_TRUE(c.relation == -1 && c.value == 0.9 && !c.in_bytes);
    CU_ASSERT_TRUE(rh_constraint_parse("memory<=1.5TiB", true, &c, NULL));
    CU_ASSERT_TRUE(c.relation == -1 && c.value == 1536 * RH_GIB_BYTES && c.in_bytes);
    g_autofree char *text = rh_constraint_text(&c);
    CU_ASSERT_STRING_EQUAL(text, "memory<=1536GiB");
    static const char *const wrong[] = {"memory>=10%", "memory=50%",    "memory<=0%",
                                        "memory<=0B",  "memory<=2GB/s", "memory<=101%"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_constraint_parse(wrong[i], true, &c, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

/* Rules that are asked one by one refuse what all of them together do. */
static void rules_apart_are_the_rules_together(void)
{
    static const char *const models[] = {"llama-3.1-8b", "qwen3-30b-a3b"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (size_t q = 0; q < G_N_ELEMENTS(models); q++) {
        g_auto(TrainKit) k = train_kit(models[q], "dgx-h100:2", "megatron", 32, 32768);
        int32_t legal = 0;
        for (int i = 0; i < 20000; i++) {
            RhLayout l = rh_layout_default();
            l.tp = 1 << gsl_rng_uniform_int(rng, 4);
            l.cp = 1 << gsl_rng_uniform_int(rng, 3);
            l.pp = 1 << gsl_rng_uniform_int(rng, 3);
            l.dp = MAX(16 / (l.tp * l.cp * l.pp), 1);
            l.ulysses = (int32_t)gsl_rng_uniform_int(rng, 3) + 1;
            l.ep = gsl_rng_uniform_int(rng, 2) ? 1 << gsl_rng_uniform_int(rng, 4) : 1;
            l.etp = (int32_t)gsl_rng_uniform_int(rng, 2);
            l.microbatch = 1 << gsl_rng_uniform_int(rng, 3);
            l.schedule = (RhPipelineKind)(1 + gsl_rng_uniform_int(rng, RH_PIPELINE_LAST - 1));
            l.vpp = (int32_t)gsl_rng_uniform_int(rng, 3) + 1;
            l.zero = (int32_t)gsl_rng_uniform_int(rng, 4);
            l.shard = (int32_t)gsl_rng_uniform_int(rng, 3) * 2;
            l.sequence_parallel = gsl_rng_uniform_int(rng, 2) != 0;
            bool apart = rh_train_job_legal(&k.c, NULL);
            for (int r = 0; rh_train_rules[r].legal; r++)
                apart = apart && rh_train_rules[r].legal(&k.c, &l);
            CU_ASSERT_EQUAL(apart, rh_train_legal(&k.c, &l, NULL));
            legal += apart;
        }
        CU_ASSERT_TRUE(legal > 20);
    }
    gsl_rng_free(rng);
}

/* Knobs that are flags alone are searched where they can matter. */
static void the_space_has_what_flags_change(void)
{
    g_auto(TrainKit) dense = train_kit("llama-3.1-8b", "dgx-h100:2", "bare", 8, 32768);
    g_auto(TrainKit) experts = train_kit("qwen3-30b-a3b", "dgx-h100:2", "megatron", 16, 4096);
    g_autoptr(GArray) some = rh_space_list(&dense.c, NULL, 0);
    g_autoptr(GArray) others = rh_space_list(&experts.c, NULL, 0);
    int32_t gathers = 0, exchanges = 0, shards = 0, sent_once = 0, spread = 0;
    for (guint i = 0; i < some->len; i++) {
        const RhLayout *l = at(some, i);
        gathers += l->kv == RH_CONTEXT_GATHER;
        exchanges += l->ulysses > 1;
        shards += l->shard > 0;
        if (l->ulysses > 1) /* no key-value head twice */
            CU_ASSERT_EQUAL(dense.model->kinds[0].kv_heads % (l->tp * l->ulysses), 0);
        if (l->shard > 0)
            CU_ASSERT_TRUE(l->zero == 3 && l->shard * l->tp == 8);
    }
    for (guint i = 0; i < others->len; i++) {
        sent_once += at(others, i)->dispatch == RH_DISPATCH_DEEPEP;
        spread += at(others, i)->ep > 1;
    }
    CU_ASSERT_TRUE(gathers > 0 && exchanges > 0 && shards > 0);
    CU_ASSERT_TRUE(sent_once > 0);
    CU_ASSERT_EQUAL(spread, 2 * sent_once);
}

int main(void)
{
    return rh_test_main(
        "space",
        (RhTest[]){{"the_space_is_every_canonical_legal_layout",
                    the_space_is_every_canonical_legal_layout},
                   {"a_stack_without_sequence_parallelism_has_none",
                    a_stack_without_sequence_parallelism_has_none},
                   {"megatron_shards_gradients_without_stages_only",
                    megatron_shards_gradients_without_stages_only},
                   {"no_layout_is_listed_twice", no_layout_is_listed_twice},
                   {"rules_apart_are_the_rules_together", rules_apart_are_the_rules_together},
                   {"the_space_has_what_flags_change", the_space_has_what_flags_change},
                   {"constraints_hold", constraints_hold},
                   {"memory_has_only_an_upper_limit", memory_has_only_an_upper_limit},
                   {0}});
}
