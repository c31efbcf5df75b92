/* Launches that are written and read back: the layout and the job are the same. */
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "strategies/launch/launch_read.h"
#include "strategies/layer_partition.h"
#include "strategies/train/train.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define DRAWN RH_TRIES(400, 60)

static int32_t one_of(GRand *dice, const int32_t *values, int32_t count)
{
    return values[g_rand_int_range(dice, 0, count)];
}
#define ONE_OF(values) one_of(dice, values, G_N_ELEMENTS(values))

static bool rarely(GRand *dice)
{
    return g_rand_int_range(dice, 0, 4) == 0;
}

static RhLayout drawn_layout(GRand *dice, const RhProblem *c)
{
    static const int32_t degrees[] = {1, 1, 2, 4, 8}, few[] = {1, 1, 2, 4}, shares[] = {2, 4, 8};
    bool mixture = c->model->kinds[c->model->kinds_count - 1].experts > 0;
    RhLayout l = rh_train_default(c);
    l.tp = ONE_OF(degrees);
    l.pp = rarely(dice) ? ONE_OF(degrees) : 1;
    l.cp = rarely(dice) ? ONE_OF(degrees) : 1;
    l.ulysses = rarely(dice) ? l.cp : 1;
    l.kv = (RhContextKind)(l.cp > 1 && g_rand_boolean(dice));
    l.vpp = l.pp > 1 && g_rand_boolean(dice) ? ONE_OF(few) : 1;
    l.ep = mixture ? ONE_OF(degrees) : 1;
    l.etp = mixture && l.tp > 1 && g_rand_boolean(dice);
    l.schedule = l.vpp > 1 ? RH_PIPELINE_INTERLEAVED : RH_PIPELINE_1F1B;
    l.microbatch = ONE_OF(few);
    l.zero = g_rand_int_range(dice, 0, 4);
    l.shard = rarely(dice) ? ONE_OF(shares) : 0;
    l.recompute = rarely(dice)   ? RH_RECOMPUTE_FULL
                  : rarely(dice) ? (RhRecompute)(RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE)
                  : rarely(dice) ? RH_RECOMPUTE_SELECTIVE
                                 : RH_RECOMPUTE_NONE;
    l.sequence_parallel = !rarely(dice);
    l.tensor_overlap = rarely(dice);
    l.order = rarely(dice) ? RH_ORDER_TP_PP_DP : RH_ORDER_TP_DP_PP;
    return l;
}

/* Writes a script to a file and reads it. */
static RhLaunchFile *read_text(const char *script, GError **error)
{
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("launch-XXXXXX.sh", &path, NULL);
    g_assert(file >= 0 && g_file_set_contents(path, script, -1, NULL));
    g_close(file, NULL);
    RhLaunchFile *read = rh_launch_read(path, error);
    g_unlink(path);
    return read;
}

static RhLaunchFile *read_back(const RhLaunch *launch, GError **error)
{
    g_autofree char *script = rh_launch_script(launch, RH_LAUNCHER_SHELL);
    return read_text(script, error);
}

/* The layout that was read, completed for the job. */
static RhLayout layout_of(const RhLaunchFile *file, const RhProblem *c)
{
    RhLayout l = rh_train_default(c);
    g_autofree char *text = rh_launch_file_layout(file);
    g_autoptr(GError) error = NULL;
    if (!rh_layout_parse(text, &l, &error) || !rh_train_settle_layout(c, &l, &error))
        printf("\n%s: %s\n", text, error->message);
    return l;
}

/* Are two layouts the same in effect: the layers of each chunk, whoever says them? */
static bool is_same(const RhProblem *c, RhLayout a, RhLayout b)
{
    g_autofree int32_t *of_a = g_new0(int32_t, a.pp * a.vpp);
    g_autofree int32_t *of_b = g_new0(int32_t, b.pp * b.vpp);
    rh_partition_layers(c, &a, of_a);
    rh_partition_layers(c, &b, of_b);
    bool chunks = a.pp * a.vpp == b.pp * b.vpp &&
                  memcmp(of_a, of_b, sizeof *of_a * (size_t)(a.pp * a.vpp)) == 0;
    RhLayout *both[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        memset(both[i]->stage_layers, 0, sizeof both[i]->stage_layers);
        both[i]->stage_layers_count = 0;
        both[i]->partition = RH_PARTITION_EVEN;
    }
    return chunks && rh_layout_equal(&a, &b);
}

static void check_same(const RhProblem *c, const RhLayout *l, const RhLaunch *launch)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhLaunchFile) file = read_back(launch, &error);
    if (!file)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    RhLayout again = layout_of(file, c);
    bool same = is_same(c, *l, again);
    if (!same) {
        g_autofree char *wanted = rh_layout_format(l);
        g_autofree char *got = rh_layout_format(&again);
        printf("\n%s of %s:\n  wrote %s\n  read  %s\n%s\n", launch->title, c->model->name, wanted,
               got, launch->flags);
    }
    CU_ASSERT_TRUE(same);
    CU_ASSERT_STRING_EQUAL(file->workload ? file->workload : "nothing", c->model->name);
    CU_ASSERT_EQUAL(file->sequence, c->job.sequence);
    CU_ASSERT_EQUAL(rh_launch_file_batch(file, c->job.gpus), c->job.global_batch);
    CU_ASSERT_STRING_EQUAL(file->dtype, c->job.recipe->name);
    CU_ASSERT_EQUAL(file->unknown->len, 0);
    for (guint i = 0; i < file->unknown->len; i++)
        printf("\nunknown: %s\n", (char *)g_ptr_array_index(file->unknown, i));
}

/* Draws so many layouts and checks those that the framework launches; at least `least` of them. */
static void check_drawn_of(const char *framework, const char *model, RhLora lora, int drawn,
                           int least)
{
    bool learned = strcmp(model, "gpt3-175b") == 0; /* positions, 2,048 of them */
    g_auto(TrainKit) k = train_kit(model, "dgx-h100:8", "bare", 512, learned ? 2048 : 8192);
    g_autoptr(GRand) dice = g_rand_new_with_seed(7);
    int launched = 0;
    k.c.job.lora = lora;
    train_kit_runs_all(&k);
    for (int i = 0; i < drawn; i++) {
        RhLayout l = drawn_layout(dice, &k.c);
        if (!rh_train_settle_layout(&k.c, &l, NULL))
            continue;
        g_autoptr(RhLaunch) launch = rh_launch_new(framework, &k.c, &l, NULL);
        if (!launch)
            continue;
        launched++;
        check_same(&k.c, &l, launch);
    }
    if (launched < least)
        printf("\n%s of %s: %d layouts of at least %d\n", framework, model, launched, least);
    CU_ASSERT_TRUE(launched >= least);
}

static void check_drawn(const char *framework, const char *model, int least)
{
    check_drawn_of(framework, model, (RhLora){0}, DRAWN, least);
}

static void megatron_reads_what_it_writes(void)
{
    check_drawn("megatron", "llama-3.1-70b", DRAWN / 20);
    check_drawn("megatron", "mixtral-8x7b", DRAWN / 40);
    check_drawn("megatron", "gpt3-175b", DRAWN / 20);
    check_drawn("megatron", "deepseek-v3", DRAWN / 200);
}

static void torchtitan_reads_what_it_writes(void)
{
    check_drawn("torchtitan", "llama-3.1-8b", DRAWN / 100);
    check_drawn("torchtitan", "llama-3.1-70b", DRAWN / 100);
}

static void deepspeed_reads_what_it_writes(void)
{
    check_drawn("deepspeed", "llama-3.1-8b", DRAWN / 400);
}

/* Both write the program that trains adapters, whose options are read by the rows of the Trainer. */
static void adapters_are_read_as_they_are_written(void)
{
    RhLora lora = {16, RH_LINEAR_QKV | RH_LINEAR_FC2};
    check_drawn_of("peft", "llama-3.1-8b", lora, DRAWN / 10, 1);
    check_drawn_of("peft", "qwen3-8b", lora, DRAWN / 10, 1);
    check_drawn_of("deepspeed", "llama-3.1-8b", lora, DRAWN / 10, 1);
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "peft", 64, 4096);
    k.c.job.lora = lora;
    static const char *const stacks[][2] = {{"peft", "peft"}, {"deepspeed", "deepspeed"}};
    for (size_t i = 0; i < G_N_ELEMENTS(stacks); i++) {
        RhLayout l = train_layout(&k, "dp16,mb2,zero3,recompute=full");
        g_autoptr(RhLaunch) launch = rh_launch_new(stacks[i][0], &k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(launch);
        check_same(&k.c, &l, launch);
        g_autoptr(RhLaunchFile) file = read_back(launch, NULL);
        CU_ASSERT_STRING_EQUAL(file->stack, stacks[i][1]);
        CU_ASSERT_STRING_EQUAL(file->framework, stacks[i][0]);
        CU_ASSERT_EQUAL_FATAL(file->sets->len, 2);
        CU_ASSERT_STRING_EQUAL(file->sets->pdata[0], "lora.rank=16");
        CU_ASSERT_STRING_EQUAL(file->sets->pdata[1], "lora.modules=linear_qkv+linear_fc2");
    }
    static const RhFrozenFormat *const formats[] = {&rh_frozen_format_nf4,
                                                    &rh_frozen_format_nf4_single};
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        k.c.job.frozen = formats[i];
        RhLayout l = train_layout(&k, "dp16,mb2,zero3,recompute=full");
        g_autoptr(RhLaunch) launch = rh_launch_new("peft", &k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(launch);
        g_autoptr(RhLaunchFile) file = read_back(launch, NULL);
        g_autofree char *set = g_strdup_printf("lora.base=%s", formats[i]->name);
        CU_ASSERT_STRING_EQUAL(file->sets->pdata[0], set);
    }
}

static void nemo_reads_what_it_writes(void)
{
    check_drawn("nemo", "llama-3.1-8b", DRAWN / 40);
    check_drawn("nemo", "mixtral-8x7b", DRAWN / 100);
}

static void maxtext_reads_what_it_writes(void)
{
    check_drawn("maxtext", "llama-3.1-8b", DRAWN / 100);
}

/* A number of nodes that a variable holds is not taken for one node, whatever the flag is called, and of
 * Slurm's resources GPUs alone count. */
static void launchers_say_nodes_and_gpus(void)
{
    static const struct {
        const char *launcher;
        int64_t gpus;
    } rows[] = {{"torchrun --nproc-per-node 8", 8},
                {"torchrun --nnodes $NNODES --nproc-per-node 8", 0},
                {"srun -N $SLURM_JOB_NUM_NODES --ntasks-per-node=8 python", 0},
                {"torchrun --nnodes 2 --nproc-per-node 8", 16},
                {"srun --nodes=2 --gres=gpu:h100:8,lscratch:100 python", 16},
                {"srun --nodes=2 --gres=lscratch:100,gpu:4 python", 8},
                {"srun -N 4 --gpus=h100:32 python", 32}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *script = g_strdup_printf(
            "%s pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
            "--seq-length 4096 --micro-batch-size 1 --global-batch-size 128 --bf16\n",
            rows[i].launcher);
        g_autoptr(RhLaunchFile) file = read_text(script, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(file->gpus, rows[i].gpus);
    }
}

/* The first four files that a command names are read, and of others the answer says that they are not. */
static void files_beyond_the_fourth_are_told(void)
{
    g_autoptr(RhLaunchFile) file = read_text(
        "cat > a.json <<'END'\n{}\nEND\ncat > b.json <<'END'\n{}\nEND\n"
        "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
        "--num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 --bf16 a.json b.json "
        "a.json b.json e.json\n",
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int told = 0;
    for (guint i = 0; i < file->notes->len; i++)
        told += g_str_has_prefix(file->notes->pdata[i], "e.json is not read");
    CU_ASSERT_EQUAL(told, 1);
}

/* TorchTitan's default gathers weights again in backward, but with a pipeline. */
static void resharding_decides_the_stage_of_zero(void)
{
    static const struct {
        const char *flags;
        int32_t zero;
    } rows[] = {{"", 3},
                {"--parallelism.pipeline_parallel_degree 2", 2},
                {"--parallelism.pipeline_parallel_degree 2 "
                 "--parallelism.fsdp_reshard_after_forward always",
                 3},
                {"--parallelism.fsdp_reshard_after_forward never", 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *script = g_strdup_printf(
            "torchrun --nproc-per-node 8 -m torchtitan.train --model.name llama3 --model.flavor 8B "
            "--training.seq_len 8192 --training.local_batch_size 1 "
            "--parallelism.data_parallel_shard_degree -1 %s\n",
            rows[i].flags);
        g_autoptr(RhLaunchFile) file = read_text(script, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(file->layout.zero, rows[i].zero);
    }
}

int main(void)
{
    return rh_test_main(
        "launch_read",
        (RhTest[]){{"megatron_reads_what_it_writes", megatron_reads_what_it_writes},
                   {"torchtitan_reads_what_it_writes", torchtitan_reads_what_it_writes},
                   {"deepspeed_reads_what_it_writes", deepspeed_reads_what_it_writes},
                   {"adapters_are_read_as_they_are_written", adapters_are_read_as_they_are_written},
                   {"nemo_reads_what_it_writes", nemo_reads_what_it_writes},
                   {"maxtext_reads_what_it_writes", maxtext_reads_what_it_writes},
                   {"launchers_say_nodes_and_gpus", launchers_say_nodes_and_gpus},
                   {"files_beyond_the_fourth_are_told", files_beyond_the_fourth_are_told},
                   {"resharding_decides_the_stage_of_zero", resharding_decides_the_stage_of_zero},
                   {0}});
}
