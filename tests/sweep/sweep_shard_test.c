/* Shards of a study: assigned by hashes, told by launchers. */
#include "sweep/shard.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

#define KEYS 20000

static char *key_number(int32_t number)
{
    g_autofree char *text = g_strdup_printf("%d", number);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static int32_t place_of(const char *key, int32_t count)
{
    int32_t place = -1, holders = 0;
    for (int32_t i = 0; i < count; i++)
        if (rh_shard_has((RhStudyShard){.index = i, .count = count}, key)) {
            place = i;
            holders++;
        }
    CU_ASSERT_EQUAL(holders, 1);
    return place;
}

/* Each key has one shard. One shard more takes its share, and nothing moves between the others.
 * Source: Lamping and Veach, arXiv:1406.2294, section 3: what monotone and balanced mean. */
static void a_shard_more_moves_only_to_itself(void)
{
    for (int32_t count = 1; count < 9; count++) {
        int32_t moved = 0;
        for (int32_t i = 0; i < KEYS / 4; i++) {
            g_autofree char *key = key_number(i);
            int32_t before = place_of(key, count), after = place_of(key, count + 1);
            CU_ASSERT_TRUE(before == after || after == count);
            moved += before != after;
        }
        double share = (double)moved / (KEYS / 4);
        CU_ASSERT_DOUBLE_EQUAL(share, 1.0 / (count + 1), 0.03);
    }
}

/* Shares differ as binomial draws do. */
static void shards_are_of_one_size(void)
{
    int32_t sizes[7] = {0};
    for (int32_t i = 0; i < KEYS; i++) {
        g_autofree char *key = key_number(i);
        sizes[place_of(key, 7)]++;
    }
    for (int32_t i = 0; i < 7; i++)
        CU_ASSERT_DOUBLE_EQUAL(sizes[i], KEYS / 7.0, 5 * 50); /* 5 standard deviations */
}

static void parts_are_read(void)
{
    RhStudyShard shard = {0};
    CU_ASSERT_TRUE(rh_shard_parse("3/8", &shard, NULL));
    CU_ASSERT_TRUE(shard.index == 2 && shard.count == 8);
    static const char *const wrong[] = {"0/8", "9/8", "3", "a/8", "3/", "1/0", "-1/3", "1/2/3"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_shard_parse(wrong[i], &shard, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

/* Variables that a launcher sets, as NAME=VALUE words. */
static const char *environment;

static const char *get(const char *name)
{
    g_auto(GStrv) words = g_strsplit(environment, " ", -1);
    size_t length = strlen(name);
    for (char **word = words; *word; word++)
        if (strncmp(*word, name, length) == 0 && (*word)[length] == '=')
            return g_intern_string(*word + length + 1);
    return NULL;
}

/* Source: manual pages of sbatch and srun (Slurm 23.11), Open MPI 4.1 mpirun, Hydra's PMI. */
static void launchers_are_understood(void)
{
    static const struct {
        const char *environment;
        int32_t index, count; /* count 0: refused */
    } rows[] = {
        {"HOME=/root", 0, 1},
        {"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=8 "
         "SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_STEP=1",
         4, 8},
        {"SLURM_ARRAY_TASK_ID=6 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=9 "
         "SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_STEP=3",
         2, 4},
        {"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=8 "
         "SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_STEP=1",
         0, 0},
        {"SLURM_PROCID=0 SLURM_NTASKS=16", 0, 1}, /* a batch script, not a step */
        {"SLURM_PROCID=3 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=4", 3, 4},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3 PMI_RANK=9 PMI_SIZE=10", 2, 3},
        {"PMI_RANK=9 PMI_SIZE=10", 9, 10},
        {"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=2 "
         "SLURM_ARRAY_TASK_COUNT=2 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4",
         7, 8},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhStudyShard shard = {0};
        g_autofree char *from = NULL;
        environment = rows[i].environment;
        bool fine = rh_shard_of_environment(get, &shard, &from, NULL);
        CU_ASSERT_EQUAL(fine, rows[i].count > 0);
        if (fine)
            CU_ASSERT_TRUE(shard.index == rows[i].index && shard.count == rows[i].count);
    }
}

int main(void)
{
    return rh_test_main(
        "sweep_shard",
        (RhTest[]){{"a_shard_more_moves_only_to_itself", a_shard_more_moves_only_to_itself},
                   {"shards_are_of_one_size", shards_are_of_one_size},
                   {"parts_are_read", parts_are_read},
                   {"launchers_are_understood", launchers_are_understood},
                   {0}});
}
