/* Machines that are moved while they run: rounds in closed form, limits, and what compression cuts. */
#include "strategies/run/live_migration.h"

#include <math.h>

#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"
#include "strategies/run/run_statistics.h"
#include "tests/kit/testkit.h"

static RhLiveMigration of(double dirty_per_s, double packed_frac)
{
    return (RhLiveMigration){.memory_bytes = 64e9,
                             .dirty_bytes_per_s = dirty_per_s,
                             .link_bytes_per_s = 1e9,
                             .packed_frac = packed_frac,
                             .downtime_s = RH_MIGRATION_DOWNTIME_S};
}

/* Round k sends M r^k with r = writing over sending; what is left after n stops the machine.
 * Source: Clark et al., NSDI 2005, section 3: rounds of pre-copy. */
static void rounds_are_a_geometric_series(void)
{
    for (double r = 0.05; r < 0.95; r += 0.15)
        for (double packed = 0.4; packed <= 1; packed += 0.3) {
            RhLiveMigration m = of(r * 1e9 / packed, packed);
            RhMigrationTimes t = rh_live_migration(&m);
            double series = (1 - pow(r, t.rounds + 1)) / (1 - r), per_s = 1e9 / packed;
            RH_CHECK_CLOSE(t.moving_s, 64e9 / per_s * series, 1e-9);
            RH_CHECK_CLOSE(t.sent_bytes, 64e9 * packed * series, 1e-9);
            RH_CHECK_CLOSE(t.stopped_s, 64e9 / per_s * pow(r, t.rounds), 1e-9);
            CU_ASSERT_TRUE(t.stopped_s <= RH_MIGRATION_DOWNTIME_S ||
                           t.rounds == RH_MIGRATION_ROUNDS);
        }
}

/* A machine that writes nothing is copied once, and stops for nothing; one that writes faster than pages leave is
 * stopped with all of them. */
static void the_ends_are_a_copy_and_a_stop(void)
{
    RhLiveMigration idle = of(0, 1), busy = of(5e9, 1);
    RhMigrationTimes t = rh_live_migration(&idle);
    CU_ASSERT_EQUAL(t.rounds, 1);
    CU_ASSERT_EQUAL(t.stopped_s, 0);
    CU_ASSERT_EQUAL(t.sent_bytes, 64e9);
    t = rh_live_migration(&busy);
    CU_ASSERT_EQUAL(t.rounds, 1);
    CU_ASSERT_EQUAL(t.stopped_s, 64);
    CU_ASSERT_EQUAL(t.sent_bytes, 128e9);
}

/* Pages of 0.559 of their bytes cut the data by 44.1 % where nothing is written meanwhile, and by more where rounds get
 * shorter; a slow compressor takes that back.
 * Source: VNIX with LZO cuts the data by 44.1 %. */
static void compression_cuts_data_and_rounds(void)
{
    double before = 0.441;
    for (double dirty = 0; dirty < 0.9e9; dirty += 0.2e9) {
        RhLiveMigration plain = of(dirty, 1), packed = of(dirty, 0.559), slow = packed;
        slow.pack_bytes_per_s = 0.95e9;
        RhMigrationTimes a = rh_live_migration(&plain), b = rh_live_migration(&packed),
                         c = rh_live_migration(&slow);
        double cut = 1 - b.sent_bytes / a.sent_bytes;
        CU_ASSERT_TRUE(cut >= before - 1e-9);
        before = cut;
        CU_ASSERT_TRUE(b.moving_s < a.moving_s && c.moving_s > a.moving_s);
    }
}

/* Nothing fails: each move costs its stop, and no checkpoint, restart or work. */
static void a_run_whose_machines_move_stops_for_moments(void)
{
    const double day_s = 86400;
    RhLiveMigration m = of(0.5e9, 1);
    RhTrainingRun run = {.work_s = 10 * day_s,
                         .step_s = 5,
                         .nodes_count = 4,
                         .node_gpus = 8,
                         .rates = rh_failure_rates_by_name("llama-3"),
                         .mtbf_s = 1e15,
                         .law = RH_LAW_EXPONENTIAL,
                         .checkpoint = {.every_s = 1800, .write_s = 30, .read_s = 100},
                         .startup_s = 200,
                         .stop_every_s = day_s,
                         .stop_s = rh_live_migration(&m).stopped_s,
                         .moves = m,
                         .policy = rh_run_policy_by_name("restart"),
                         .spares_endless = true,
                         .group_nodes = 1,
                         .seed = 1,
                         .least = 2,
                         .most = 2};
    RhRunResult moved = {0}, still = {0};
    CU_ASSERT_TRUE(rh_training_run_check(&run, NULL) && rh_run_replicate(&run, &moved, NULL));
    run.stop_every_s = 0;
    CU_ASSERT_TRUE(rh_run_replicate(&run, &still, NULL));
    double stops = floor(moved.time_s.mean / day_s);
    CU_ASSERT_TRUE(stops >= 10);
    RH_CHECK_CLOSE(moved.spent_s[RH_RUN_PLANNED], stops * run.stop_s, 1e-9);
    CU_ASSERT_EQUAL(moved.spent_s[RH_RUN_RESTART], still.spent_s[RH_RUN_RESTART]);
    CU_ASSERT_EQUAL(moved.spent_s[RH_RUN_LOST], 0);
    RH_CHECK_CLOSE(moved.time_s.mean - still.time_s.mean, stops * run.stop_s, 1e-6);
}

int main(void)
{
    return rh_test_main(
        "live_migration",
        (RhTest[]){{"rounds_are_a_geometric_series", rounds_are_a_geometric_series},
                   {"the_ends_are_a_copy_and_a_stop", the_ends_are_a_copy_and_a_stop},
                   {"compression_cuts_data_and_rounds", compression_cuts_data_and_rounds},
                   {"a_run_whose_machines_move_stops_for_moments",
                    a_run_whose_machines_move_stops_for_moments},
                   {0}});
}
