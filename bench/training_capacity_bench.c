/* Which cluster, and how much of it: 256 to 4,096 GPUs of three platforms for 15 T tokens, on all cores. One process
 * for each model, so that what it used is known.
 *   training_capacity_bench [MODEL...]     three of the catalogue by default */
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_job.h"
#include "strategies/search/capacity/capacity.h"

#define SIZES     9
#define SEQUENCE  4096
#define TOKENS    15e12
#define WALL_MOST "<= 60"

static const char *const models[] = {"llama-3.1-70b", "mixtral-8x22b", "llama-3.1-405b", NULL};
static const char *const platforms[] = {"dgx-h100", "dgx-a100", "dgx-b200"};
static const int32_t sizes[SIZES] = {256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};

#define CELLS (SIZES * (int32_t)G_N_ELEMENTS(platforms))

/* How many cells have no proved answer. */
static int32_t unproved(const RhCapacityCell *cells)
{
    int32_t count = 0;
    for (int32_t i = 0; i < CELLS; i++)
        count += !cells[i].proved;
    return count;
}

static void measure(const char *model)
{
    BenchJob jobs[CELLS];
    RhCapacityQuestion cases[CELLS];
    RhCapacityCell cells[CELLS];
    for (int32_t i = 0; i < CELLS; i++) {
        g_autofree char *platform = g_strdup_printf("%s:%d", platforms[i / SIZES],
                                                    sizes[i % SIZES] / 8 /* GPUs of a node */);
        jobs[i] = bench_job(model, platform, 4096, SEQUENCE, sizes[i % SIZES]);
        cases[i] = (RhCapacityQuestion){&jobs[i].c, 1024, 4096}; /* 4 to 16 M tokens */
    }
    RhCapacityTarget goal = {.tokens = TOKENS, .gap_frac = 0.01};
    GError *error = NULL;
    double start = bench_now_s();
    bool planned = rh_capacity_plan_all(cases, CELLS, &goal, cells, &error);
    g_assert_no_error(error);
    g_assert(planned);
    g_autofree char *what = g_strdup_printf("%s at %d sizes of %d platforms", model, SIZES,
                                            (int)G_N_ELEMENTS(platforms));
    bench_line(what, CELLS, "", "");
    bench_line("  not proved to 1 %", unproved(cells), "", "0");
    bench_line("  wall clock, on all cores", bench_now_s() - start, "s", WALL_MOST);
    bench_line("  processors", bench_used_s(RUSAGE_SELF) + bench_used_s(RUSAGE_CHILDREN), "s", "");
    for (int32_t i = 0; i < CELLS; i++) {
        rh_capacity_cell_clear(&cells[i]);
        bench_job_clear(&jobs[i]);
    }
}

int main(int argc, char **argv)
{
    for (const char *const *m = argc > 1 ? (const char *const *)argv + 1 : models; *m; m++) {
        pid_t child = fork();
        if (child == 0) {
            measure(*m);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    return 0;
}
