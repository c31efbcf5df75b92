/* Launches against the frameworks' own validation of arguments: a thousand layouts of each
 * framework, drawn over models, against strategies/data/launch-asserts.txt. */
#include <stdio.h>
#include <string.h>

#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "tests/kit/condition.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define DRAWN RH_TRIES(1000, 200)

/* --- the table --- */

typedef struct {
    char *framework, *where, *condition;
} Rule;

static void clear_rule(Rule *rule)
{
    g_free(rule->framework);
    g_free(rule->where);
    g_free(rule->condition);
}

static GArray *rules_read(void)
{
    g_autofree char *text = NULL,
                    *path = g_build_filename(g_getenv("REHEARSE_DATA") ? g_getenv("REHEARSE_DATA")
                                                                       : RH_DATA_DIR,
                                             "strategies", "data", "launch-asserts.txt", NULL);
    g_assert(g_file_get_contents(path, &text, NULL, NULL));
    GArray *rules = g_array_new(FALSE, TRUE, sizeof(Rule));
    g_array_set_clear_func(rules, (GDestroyNotify)clear_rule);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) parts = g_strsplit(*line, "|", 3);
        if (**line == '#' || g_strv_length(parts) != 3)
            continue;
        Rule rule = {g_strdup(parts[0]), g_strdup(parts[1]), g_strdup(parts[2])};
        g_array_append_val(rules, rule);
    }
    return rules;
}

/* --- what a launch says --- */

typedef struct {
    const char *framework;
    const GArray *rules;
    GHashTable *said, *derived;
} Said;

static const char *look_up(const char *name, void *user);

/* Defaults are conditions over what is said, too. */
static const char *default_of(const char *name, Said *s)
{
    g_autofree char *head = g_strdup_printf("%s = ", name);
    for (guint i = 0; i < s->rules->len; i++) {
        const Rule *rule = &g_array_index(s->rules, Rule, i);
        if (strcmp(rule->framework, s->framework) != 0 || strcmp(rule->where, "default") != 0 ||
            !g_str_has_prefix(rule->condition, head))
            continue;
        bool broken = false;
        Value v = condition_value(rule->condition + strlen(head), look_up, s, &broken);
        CU_ASSERT_FALSE(broken);
        char *text = v.text[0] ? g_strdup(v.text) : g_strdup_printf("%.0f", v.number);
        g_hash_table_replace(s->derived, g_strdup(name), text);
        return text;
    }
    return NULL;
}

static const char *look_up(const char *name, void *user)
{
    Said *s = user;
    const char *said = g_hash_table_lookup(s->said, name);
    return said ? said : default_of(name, s);
}

static void put_number(Said *s, const char *name, int64_t value)
{
    g_hash_table_replace(s->said, g_strdup(name), g_strdup_printf("%" G_GINT64_FORMAT, value));
}

static void put_flags(Said *s, const char *flags)
{
    g_auto(GStrv) words = g_strsplit(flags, " ", -1);
    for (char **word = words; *word; word++) {
        char *equals = strchr(*word, '=');
        if (equals && !g_str_has_prefix(*word, "--")) /* NAME=VALUE */
            g_hash_table_replace(s->said, g_strndup(*word, (gsize)(equals - *word)),
                                 g_strdup(equals + 1));
        if (!g_str_has_prefix(*word, "--"))
            continue;
        bool valued = word[1] && !g_str_has_prefix(word[1], "--");
        char *name = g_strdelimit(g_strdup(*word + 2), "-", '_');
        g_hash_table_replace(s->said, name, g_strdup(valued ? word[1] : ""));
    }
}

/* "key": value, a line each; the figures of a Python file; exports. */
static void put_files(Said *s, const char *files)
{
    g_autoptr(GRegex) json = g_regex_new("\"(\\w+)\": \"?([^\",\\n{]+)", 0, 0, NULL);
    g_autoptr(GRegex) python = g_regex_new("(\\w+)=\"?([^,)\\s\"]+)", 0, 0, NULL);
    GRegex *const both[] = {json, python};
    for (size_t i = 0; i < G_N_ELEMENTS(both); i++) {
        g_autoptr(GMatchInfo) match = NULL;
        for (g_regex_match(both[i], files, 0, &match); g_match_info_matches(match);
             g_match_info_next(match, NULL))
            g_hash_table_replace(s->said, g_match_info_fetch(match, 1),
                                 g_match_info_fetch(match, 2));
    }
}

static void put_environment(Said *s, const char *environment)
{
    g_auto(GStrv) words = g_strsplit(environment, " ", -1);
    for (char **word = words; *word; word++) {
        g_auto(GStrv) parts = g_strsplit(*word, "=", 2);
        if (parts[0] && parts[1])
            g_hash_table_replace(s->said, g_strconcat("env.", parts[0], NULL), g_strdup(parts[1]));
    }
}

static int64_t number_of(Said *s, const char *name)
{
    const char *said = look_up(name, s);
    return said ? g_ascii_strtoll(said, NULL, 10) : 0;
}

/* Chunks of "E|(t*2|)*3tL": a bar between each two, counted groups as often as they are. */
static int64_t chunks_of(const char *layout)
{
    int64_t bars = 0;
    for (const char *c = layout; *c; c++) {
        if (*c == '|')
            bars++;
        if (g_str_has_prefix(c, "|)*"))
            bars += g_ascii_strtoll(c + 3, NULL, 10) - 1;
    }
    return bars + 1;
}

static void put_stages(Said *s)
{
    const char *layout = g_hash_table_lookup(s->said, "pipeline_model_parallel_layout");
    int64_t stages = 1;
    if (strcmp(s->framework, "megatron") == 0) {
        int64_t vpp = MAX(1, number_of(s, "num_virtual_stages_per_pipeline_rank"));
        stages = layout ? chunks_of(layout) : vpp * number_of(s, "pipeline_model_parallel_size");
    } else if (g_hash_table_contains(s->said, "parallelism.pipeline_parallel_layers_per_stage")) {
        int64_t each = number_of(s, "parallelism.pipeline_parallel_layers_per_stage");
        int64_t all = number_of(s, "n_layers") +
                      number_of(s, "parallelism.pipeline_parallel_first_stage_less_layers") +
                      number_of(s, "parallelism.pipeline_parallel_last_stage_less_layers");
        stages = (all + each - 1) / each;
    }
    put_number(s, "virtual_stages", stages);
}

static Said said_of(const char *framework, const GArray *rules, const RhProblem *c,
                    const RhLaunch *launch)
{
    Said s = {framework, rules, g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
              g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
    put_files(&s, launch->files);
    put_flags(&s, launch->flags);
    put_environment(&s, launch->environment);
    put_number(&s, "world_size", c->job.gpus);
    put_number(&s, "hopper", 1);
    put_number(&s, "slices", launch->nodes);
    put_number(&s, "devices_of_slice", launch->gpus_of_node);
    put_stages(&s);
    return s;
}

static void said_clear(Said *s)
{
    g_hash_table_destroy(s->said);
    g_hash_table_destroy(s->derived);
}

/* The first rule that does not hold; NULL: all do. */
static const Rule *broken_rule(Said *s)
{
    for (guint i = 0; i < s->rules->len; i++) {
        const Rule *rule = &g_array_index(s->rules, Rule, i);
        if (strcmp(rule->framework, s->framework) != 0 || strcmp(rule->where, "default") == 0)
            continue;
        bool broken = false;
        Value v = condition_value(rule->condition, look_up, s, &broken);
        if (broken || v.number == 0)
            return rule;
    }
    return NULL;
}

/* --- layouts --- */

static int32_t drawn_of(GRand *dice, const int32_t *values, int32_t count)
{
    return values[g_rand_int_range(dice, 0, count)];
}

static RhLayout drawn_layout(GRand *dice, const RhProblem *c, bool plain)
{
    static const int32_t degrees[] = {1, 1, 1, 2, 4, 8}, chunks[] = {1, 1, 1, 2, 3, 4, 5, 10},
                         batches[] = {1, 1, 2, 4},
                         recompute[] = {0, RH_RECOMPUTE_SELECTIVE, RH_RECOMPUTE_FULL,
                                        RH_RECOMPUTE_FULL, RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE};
#define DRAW(values) drawn_of(dice, values, G_N_ELEMENTS(values))
    RhLayout l = rh_train_default(c);
    if (!plain) {
        l.tp = DRAW(degrees);
        l.pp = DRAW(degrees);
        l.cp = g_rand_int_range(dice, 0, 4) ? 1 : DRAW(degrees);
        l.ulysses = g_rand_int_range(dice, 0, 3) ? 1 : MIN(l.cp, DRAW(degrees));
        l.kv = (RhContextKind)(g_rand_int_range(dice, 0, 4) == 0);
        l.ep = DRAW(degrees);
        l.etp = g_rand_int_range(dice, 0, 2);
        l.dispatch = (RhDispatch)(g_rand_int_range(dice, 0, 3) == 0);
        l.overlap = (RhOverlap)(g_rand_int_range(dice, 0, 3) ? 0 : g_rand_int_range(dice, 0, 4));
        l.vpp = l.pp > 1 ? DRAW(chunks) : 1;
        l.schedule = (RhPipelineKind)g_rand_int_range(dice, 1, RH_PIPELINE_LAST);
        if (g_rand_boolean(dice))
            l.schedule = l.vpp > 1 ? RH_PIPELINE_INTERLEAVED : RH_PIPELINE_1F1B;
        l.sequence_parallel = g_rand_int_range(dice, 0, 4) > 0;
        l.tensor_overlap = g_rand_int_range(dice, 0, 4) == 0;
        l.order = (RhOrder)g_rand_int_range(dice, 1, RH_ORDER_LAST);
        l.partition = (RhPartition)g_rand_int_range(dice, 0, RH_PARTITION_LAST);
    }
    l.microbatch = DRAW(batches);
    l.zero = g_rand_int_range(dice, 0, 4);
    l.shard = g_rand_int_range(dice, 0, 4) ? 0 : DRAW(degrees);
    l.recompute = (RhRecompute)DRAW(recompute);
    return rh_train_canonical(c, &l);
#undef DRAW
}

static const char *const models[] = {
    "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-32b",  "qwen3-30b-a3b",
    "mixtral-8x7b", "deepseek-v3",   "gpt3-175b",      "mistral-7b", "qwen2.5-72b"};
static const int32_t sizes[] = {8, 16, 64, 128};
static const int64_t sequences[] = {2048, 4096, 8192};

/* Writes a launch for tests/megatron_arguments.py. */
static void write_line(FILE *lines, const RhProblem *c, const RhLaunch *launch)
{
    if (lines)
        fprintf(lines, "%d\t%s\t%s\n", c->job.gpus, launch->environment, launch->flags);
}

static void check_framework(const char *framework, uint32_t seed, FILE *lines)
{
    g_autoptr(GRand) dice = g_rand_new_with_seed(seed);
    g_autoptr(GArray) rules = rules_read();
    g_autoptr(GHashTable) shown = g_hash_table_new(g_str_hash, g_str_equal);
    int launched = 0;
    for (int tries = 0; launched < DRAWN && tries < 20000; tries++) {
        const char *model = models[g_rand_int_range(dice, 0, G_N_ELEMENTS(models))];
        g_autofree char *platform =
            g_strdup_printf("dgx-h100:%d", drawn_of(dice, sizes, G_N_ELEMENTS(sizes)) / 8);
        g_auto(TrainKit) k =
            train_kit(model, platform, "bare", 128,
                      sequences[g_rand_int_range(dice, 0, G_N_ELEMENTS(sequences))]);
        for (int again = 0; again < 50 && launched < DRAWN; again++) {
            RhLayout l = drawn_layout(dice, &k.c, strcmp(framework, "deepspeed") == 0);
            if (!rh_train_legal(&k.c, &l, NULL))
                continue;
            g_autoptr(RhLaunch) launch = rh_launch_new(framework, &k.c, &l, NULL);
            if (!launch)
                continue;
            launched++;
            write_line(lines, &k.c, launch);
            Said s = said_of(framework, rules, &k.c, launch);
            const Rule *rule = broken_rule(&s);
            if (rule && g_hash_table_add(shown, (gpointer)rule->where)) {
                g_autofree char *text = rh_layout_format(&l);
                fprintf(stderr, "\n%s %s\n  %s: %s\n", model, text, rule->where, rule->condition);
            }
            CU_ASSERT_PTR_NULL(rule);
            said_clear(&s);
        }
    }
    CU_ASSERT_EQUAL(launched, DRAWN);
}

static void megatron_would_start_a_thousand(void)
{
    const char *path = g_getenv("REHEARSE_LAUNCHES");
    FILE *lines = path ? fopen(path, "w") : NULL;
    check_framework("megatron", 1, lines);
    if (lines)
        fclose(lines);
}

static void torchtitan_would_start_a_thousand(void)
{
    check_framework("torchtitan", 2, NULL);
}

static void deepspeed_would_start_a_thousand(void)
{
    check_framework("deepspeed", 3, NULL);
}

static void nemo_would_start_a_thousand(void)
{
    check_framework("nemo", 4, NULL);
}

static void maxtext_would_start_a_thousand(void)
{
    check_framework("maxtext", 5, NULL);
}

/* --- the rules bite --- */

static void what_is_spoilt_is_seen(void)
{
    static const struct {
        const char *framework, *layout, *name, *value, *where;
    } cases[] = {
        {"megatron", "tp8,zero1", "env.CUDA_DEVICE_MAX_CONNECTIONS", "8", "arguments.py:959"},
        {"megatron", "tp8,zero3", "env.CUDA_DEVICE_MAX_CONNECTIONS", "1", "arguments.py:715"},
        {"megatron", "tp8,zero3", "ckpt_format", "torch_dist", "arguments.py:718"},
        {"megatron", "tp8,zero3", "pipeline_model_parallel_size", "2", "arguments.py:549"},
        {"megatron", "tp8,zero1", "max_position_embeddings", "1024", "arguments.py:856"},
        {"megatron", "tp8,zero1", "tensor_model_parallel_size", "16", "transformer_config.py:758"},
        {"megatron", "tp8,zero1", "global_batch_size", "100", "num_microbatches_calculator.py:348"},
        {"torchtitan", "tp8,zero3", "parallelism.tensor_parallel_degree", "4", "parallel_dims.py"},
        {"torchtitan", "tp8,zero3", "training.seq_len", "2050", "parallelize.py:69"},
        {"deepspeed", "dp64,zero3", "gradient_accumulation_steps", "3", "config.py:924"},
        {"deepspeed", "dp64,zero3", "stage", "0", "engine.py:1977"},
        {"nemo", "tp8,zero3", "env.CUDA_DEVICE_MAX_CONNECTIONS", "1", "config.py:1101"},
        {"nemo", "tp8,zero3", "ckpt_format", "torch_dist", "config.py:1098"},
        {"nemo", "tp8,zero1", "tensor_model_parallel_size", "16", "transformer_config.py:1339"},
        {"nemo", "tp8,pp4,vpp2,zero1", "virtual_pipeline_model_parallel_size", "3",
         "gpt_provider.py:252"},
        {"nemo", "tp8,zero1,recompute=full", "recompute_method", "every",
         "transformer_config.py:1732"},
        {"maxtext", "tp8,zero3", "ici_tensor_sequence_parallelism", "4", "max_utils.py:479"},
        {"maxtext", "tp8,zero3", "dcn_fsdp_parallelism", "4", "max_utils.py:479"},
        {"maxtext", "dp64,zero3", "base_emb_dim", "8100", "base.yml:605"},
        {"maxtext", "tp8,zero3", "remat_policy", "some", "nnx_decoders.py:1160"},
        {"maxtext", "tp8,zero3", "packing", "True", "types.py:4147"},
        {"maxtext", "tp8,pp8,schedule=gpipe,recompute=full", "num_pipeline_microbatches", "12",
         "types.py:3610"},
        {"maxtext", "tp8,pp8,schedule=gpipe,recompute=full", "num_layers_per_pipeline_stage", "5",
         "types.py:3596"},
    };
    g_autoptr(GArray) rules = rules_read();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "bare", 512, 2048);
        RhLayout l = train_layout(&k, cases[i].layout);
        g_autoptr(RhLaunch) launch = rh_launch_new(cases[i].framework, &k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(launch);
        Said s = said_of(cases[i].framework, rules, &k.c, launch);
        CU_ASSERT_PTR_NULL(broken_rule(&s));
        g_hash_table_replace(s.said, g_strdup(cases[i].name), g_strdup(cases[i].value));
        const Rule *rule = broken_rule(&s);
        CU_ASSERT_PTR_NOT_NULL_FATAL(rule);
        CU_ASSERT_PTR_NOT_NULL(strstr(rule->where, cases[i].where));
        said_clear(&s);
    }
}

/* --- conditions themselves --- */

static const char *two(const char *name, void *user)
{
    (void)user;
    return strcmp(name, "two") == 0 ? "2" : strcmp(name, "word") == 0 ? "ring" : NULL;
}

static void conditions_are_read_as_they_say(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"1 + two * 3", 7},
                 {"two == 2 and word == 'ring'", 1},
                 {"word != 'ring' -> two == 3", 1},
                 {"word == 'ring' -> two == 3", 0},
                 {"not absent or two > 5", 1},
                 {"7 % (two + 1) == 1", 1},
                 {"8 / two / two", 2},
                 {"two - 1 <= 1", 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool broken = true;
        Value v = condition_value(cases[i].text, two, NULL, &broken);
        CU_ASSERT_FALSE(broken);
        CU_ASSERT_EQUAL(v.number, cases[i].value);
    }
    static const char *const wrong[] = {"two ==", "(two", "two 3", "'open"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        bool broken = false;
        condition_value(wrong[i], two, NULL, &broken);
        CU_ASSERT_TRUE(broken);
    }
}

int main(void)
{
    return rh_test_main(
        "launch_asserts",
        (RhTest[]){{"conditions_are_read_as_they_say", conditions_are_read_as_they_say},
                   {"what_is_spoilt_is_seen", what_is_spoilt_is_seen},
                   {"megatron_would_start_a_thousand", megatron_would_start_a_thousand},
                   {"torchtitan_would_start_a_thousand", torchtitan_would_start_a_thousand},
                   {"deepspeed_would_start_a_thousand", deepspeed_would_start_a_thousand},
                   {"nemo_would_start_a_thousand", nemo_would_start_a_thousand},
                   {"maxtext_would_start_a_thousand", maxtext_would_start_a_thousand},
                   {0}});
}
