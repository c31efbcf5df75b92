/* How far memory goes: what is said to fit does, and the next does not. */
#include <gsl/gsl_rng.h>

#include "strategies/search/largest_fitting_sizes.h"
#include "strategies/search/memory_budget.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define NUMBERS 512

/* Which of the multiples fit, in no order. */
typedef struct {
    bool fits[NUMBERS];
    int64_t step;
} Pattern;

static bool pattern_fits(int64_t n, void *user)
{
    const Pattern *p = user;
    g_assert(n % p->step == 0 && n / p->step < NUMBERS);
    return p->fits[n / p->step];
}

static void the_next_does_not_fit_whatever_the_order(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 7);
    for (int trial = 0; trial < 2000; trial++) {
        Pattern p = {.step = 1 + (int64_t)gsl_rng_uniform_int(rng, 300)};
        int64_t count = 1 + (int64_t)gsl_rng_uniform_int(rng, NUMBERS - 1);
        bool doubled = false;
        for (int64_t i = 1; i <= count; i++)
            p.fits[i] = gsl_rng_uniform(rng) < 0.6;
        for (int64_t i = 1; i <= count; i *= 2)
            doubled |= p.fits[i];
        int64_t most = count * p.step + (int64_t)gsl_rng_uniform_int(rng, (unsigned long)p.step);
        int64_t n = rh_memory_largest(pattern_fits, &p, p.step, most);
        CU_ASSERT_EQUAL(n > 0, doubled);
        if (n > 0) {
            CU_ASSERT_TRUE(p.fits[n / p.step]);
            CU_ASSERT_TRUE(n / p.step == count || !p.fits[n / p.step + 1]);
        }
    }
    gsl_rng_free(rng);
}

static void check_microbatch(const RhProblem *job, const RhLayout *layout, int64_t n, double room)
{
    int64_t microbatches = rh_train_microbatches(job, layout);
    for (int64_t more = 0; more < 2; more++) {
        RhProblem c = *job;
        RhLayout l = *layout;
        l.microbatch = (int32_t)(n + more);
        c.job.global_batch = l.microbatch * l.dp * microbatches;
        CU_ASSERT_EQUAL(l.microbatch > 0 && rh_memory_holds(&c, &l, room), n > 0 && more == 0);
    }
}

static void check_sequence(const RhProblem *job, const RhLayout *layout,
                           const RhLargestMemory *reach, double room)
{
    RhProblem c = *job;
    RhLayout l = *layout;
    l.microbatch = 1;
    c.job.global_batch = l.dp * rh_train_microbatches(job, layout);
    c.job.sequence = MAX(reach->sequence, 256);
    CU_ASSERT_EQUAL(rh_memory_holds(&c, &l, room), reach->sequence > 0);
    if (reach->sequence > 0 && !reach->sequence_is_most) {
        c.job.sequence += 256;
        CU_ASSERT_FALSE(rh_memory_holds(&c, &l, room));
    }
}

static void random_jobs_go_as_far_as_they_say(void)
{
    static const char *const models[] = {"llama-3.1-8b", "llama-3.2-1b", "mixtral-8x7b"};
    static const char *const layouts[] = {"zero1",     "zero3",
                                          "tp2,zero1", "tp4,recompute=full",
                                          "pp2,zero1", "tp2,pp2,recompute=full",
                                          "tp8,zero1"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    int fitted = 0, refused = 0;
    gsl_rng_set(rng, 11);
    for (int trial = 0; trial < 40; trial++) {
        const char *model = models[gsl_rng_uniform_int(rng, G_N_ELEMENTS(models))];
        g_auto(TrainKit) k =
            train_kit(model, "dgx-h100:1", "megatron", 64, 1024 << gsl_rng_uniform_int(rng, 4));
        k.c.job.lora.rank = gsl_rng_uniform_int(rng, 2) ? 16 : 0;
        RhLayout l = train_layout(&k, layouts[gsl_rng_uniform_int(rng, G_N_ELEMENTS(layouts))]);
        if (!rh_train_legal(&k.c, &l, NULL))
            continue;
        double room =
            rh_memory_budget(&k.c, NULL, 0, 0.05).ranked_bytes * (0.2 + 0.8 * gsl_rng_uniform(rng));
        RhLargestMemory reach = rh_memory_reach(&k.c, &l, room);
        fitted += reach.microbatch > 0;
        refused += reach.microbatch == 0;
        check_microbatch(&k.c, &l, reach.microbatch, room);
        check_sequence(&k.c, &l, &reach, room);
        RhProblem c = k.c;
        c.job.lora.rank = (int32_t)reach.lora_rank;
        CU_ASSERT_EQUAL(reach.lora_rank >= 0, k.c.job.lora.rank > 0);
        if (reach.lora_rank > 0)
            CU_ASSERT_TRUE(rh_memory_holds(&c, &l, room));
        c.job.lora.rank *= 2;
        if (reach.lora_rank > 0 && reach.lora_rank < RH_MEMORY_RANK_MOST)
            CU_ASSERT_FALSE(rh_memory_holds(&c, &l, room));
    }
    gsl_rng_free(rng);
    CU_ASSERT_TRUE(fitted > 5 && refused > 2);
}

/* Every change that is named makes the layout fit. */
static void makers_make_room(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 16384);
    double room = rh_memory_budget(&k.c, NULL, 0, 0.05).ranked_bytes;
    RhLayout l = train_layout(&k, "tp2,zero1");
    CU_ASSERT_FALSE(rh_memory_holds(&k.c, &l, room));
    g_autoptr(GArray) makers = rh_memory_room_makers(&k.c, &l, room);
    CU_ASSERT_TRUE(makers->len > 3);
    for (guint i = 0; i < makers->len; i++) {
        const RhMemorySaver *s = &g_array_index(makers, RhMemorySaver, i);
        CU_ASSERT_TRUE(s->peak_bytes <= room && s->segment_s > 0);
        if (!rh_layout_equal(&s->layout, &l))
            CU_ASSERT_TRUE(rh_memory_holds(&k.c, &s->layout, room));
    }
}

int main(void)
{
    return rh_test_main("memory_largest", (RhTest[]){{"the_next_does_not_fit_whatever_the_order",
                                                      the_next_does_not_fit_whatever_the_order},
                                                     {"random_jobs_go_as_far_as_they_say",
                                                      random_jobs_go_as_far_as_they_say},
                                                     {"makers_make_room", makers_make_room},
                                                     {0}});
}
