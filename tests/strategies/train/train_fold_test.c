/* The programs of every cut, performed: folded as unfolded, and by the links they cross. */
#include <math.h>

#include "sim/engine/workers/isolated_run.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static double wait_sum(const RhRun *run, RhWait wait)
{
    double sum = 0, ranks = 0;
    for (guint i = 0; i < run->performers->len; i++) {
        const RhPerformer *p = &g_array_index(run->performers, RhPerformer, i);
        sum += p->wait_s[wait] * p->ranks_count;
        ranks += p->ranks_count;
    }
    return sum / ranks;
}

static void check_fold(const TrainKit *k, const char *layout)
{
    g_autoptr(RhProgram) p = train_build(k, layout);
    g_autoptr(GError) error = NULL;
    RhEngineOptions folded = {0}, unfolded = {.unfolded = true};
    g_autoptr(RhRun) a = rh_rehearse_isolated(p, k->platform, &folded, &error);
    g_assert_no_error(error);
    g_autoptr(RhRun) b = rh_rehearse_isolated(p, k->platform, &unfolded, &error);
    g_assert_no_error(error);
    if (!rh_test_close(a->step_time_s, b->step_time_s, 1e-3))
        CU_FAIL_FATAL("folded and unfolded steps differ");
    for (int w = 0; w < RH_WAIT_LAST; w++) {
        double x = wait_sum(a, (RhWait)w), y = wait_sum(b, (RhWait)w);
        CU_ASSERT_TRUE(fabs(x - y) <= 0.01 * fmax(x, y) || fabs(x - y) <= 1e-4 * b->step_time_s);
    }
}

static const char *const cuts_of_16[] = {"tp1,dp16,zero0",
                                         "tp1,dp16,zero1",
                                         "tp1,dp16,zero2",
                                         "tp1,dp16,zero3",
                                         "tp8,dp2,sp=off",
                                         "tp8,dp2,sp=on",
                                         "tp2,pp2,dp4,zero1",
                                         "tp2,pp4,dp2,schedule=gpipe",
                                         "tp1,pp4,dp4,zero2,order=tp-pp-dp",
                                         "tp2,pp2,dp4,vpp2,zero1",
                                         "tp4,pp4,dp1,vpp2",
                                         "tp2,pp4,dp2,zero3,recompute=full",
                                         "tp1,pp8,dp2,recompute=selective,order=tp-pp-dp",
                                         "tp1,pp16,dp1",
                                         "tp2,cp4,dp2,zero3",
                                         "tp2,cp4,dp2,kv=gather,zero3",
                                         "tp2,cp8,ulysses8",
                                         "cp8,pp2,ulysses4,recompute=full",
                                         "cp16,ulysses2,kv=gather,recompute=selective",
                                         "tp2,cp2,pp2,dp2,vpp2,order=tp-pp-dp",
                                         "pp4,dp4,schedule=zb-h2,zero2",
                                         "tp2,pp4,dp2,schedule=zb-v",
                                         "cp2,pp2,dp4,schedule=zb-v,zero3,order=tp-pp-dp",
                                         "cp16,zero2",
                                         "dp16,zero3,shard8",
                                         "tp8,dp2,tpoverlap=on,recompute=full",
                                         "tp4,cp2,pp2,dp1,tpoverlap=on,recompute=selective",
                                         "tp2,cp2,dp4,zero1,shard4",
                                         "tp2,pp2,dp4,zero2,shard2,order=tp-pp-dp",
                                         "tp2,dp8,zero3,hpz2",
                                         "tp2,pp2,dp4,zero1,activations=50",
                                         "tp2,dp8,zero2,states=host,mb1",
                                         "tp2,pp2,dp4,zero1,states=host,hosted=50",
                                         "pp4,dp4,zero3,states=host,activations=50",
                                         "dp16,zero3,states=host,params=host",
                                         "tp2,dp8,zero3,states=nvme,params=nvme",
                                         "tp2,pp4,dp2,recompute=full,relayers=4-2-1-0",
                                         "pp4,dp4,vpp2,zero3,recompute=full,activations=100",
                                         "tp2,dp8,zero3,hpz4,qwz=on",
                                         "tp2,pp2,dp4,zero3,qwz=on",
                                         "dp16,zero0,codec=onebit",
                                         "tp2,pp2,dp4,zero0,codec=onebit"};

static void folded_agrees_with_unfolded_for_every_cut(void)
{
    g_auto(TrainKit) dgx = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 32, 2048);
    train_kit_runs_all(&dgx);
    for (size_t i = 0; i < G_N_ELEMENTS(cuts_of_16); i += RH_TRIES(1, 2))
        check_fold(&dgx, cuts_of_16[i]);
}

static void folded_agrees_where_stages_share_a_nic(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x2,nvlink:450GB/s,ib:100Gb/s,nics:1",
                                   "megatron", 32, 2048);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(cuts_of_16); i += RH_TRIES(1, 4))
        check_fold(&k, cuts_of_16[i]);
}

static void folded_agrees_where_experts_are_spread(void)
{
    static const char *const platforms[] = {
        "dgx-h100:2", "h100-sxm:8x2,nvlink:450GB/s,ib:100Gb/s,nics:1",
        "h100-sxm:4x4,nvlink:450GB/s,ib:200Gb/s,leaf:2,oversub:4"};
    static const char *const cuts[] = {"dp16,ep8,zero1",
                                       "tp2,dp8,ep8,zero2",
                                       "tp2,dp8,ep8,etp1,zero0",
                                       "tp4,pp2,dp2,ep8,etp1,zero1",
                                       "tp2,pp2,dp4,ep4,etp1,vpp2",
                                       "tp2,pp2,dp4,ep4,order=tp-pp-dp",
                                       "cp4,dp4,ep8,recompute=full",
                                       "dp16,ep8,zero1,dispatch=deepep",
                                       "tp4,pp2,dp2,ep4,etp1,dispatch=deepep",
                                       "tp2,pp2,dp4,ep4,mb2,epoverlap=batches",
                                       "tp2,pp2,dp4,ep4,vpp2,epoverlap=pairs",
                                       "dp16,ep8,zero3,epoverlap=pairs",
                                       "pp2,dp8,ep8,schedule=dualpipe-v",
                                       "tp2,pp2,dp4,ep4,zero2,schedule=dualpipe-v,order=tp-pp-dp",
                                       "tp2,pp2,dp4,ep4,zero3",
                                       "tp2,pp2,dp4,ep4,order=tp-pp-dp,dispatch=deepep"};
    for (size_t i = 0; i < G_N_ELEMENTS(platforms); i++) {
        g_auto(TrainKit) k = train_kit("mixtral-8x7b", platforms[i], "megatron", 32, 2048);
        g_assert(rh_model_set(k.model, "layers", "4", NULL));
        train_kit_runs_all(&k);
        for (size_t c = 0; c < G_N_ELEMENTS(cuts); c += i == 0 ? 1 : RH_TRIES(1, 4))
            check_fold(&k, cuts[c]);
    }
}

static void folded_agrees_where_rings_cross_pods(void)
{
    g_auto(TrainKit) k =
        train_kit("llama-3.2-1b", "h100-sxm:4x16,nvlink:450GB/s,ib:200Gb/s,leaf:4,oversub:4",
                  "megatron", 64, 2048);
    train_kit_runs_all(&k);
    static const char *const cuts[] = {"tp4,dp16,zero1",
                                       "tp2,pp4,dp8,zero1",
                                       "tp2,pp4,dp8,zero1,order=tp-pp-dp",
                                       "tp1,pp2,dp32,zero2,order=tp-pp-dp",
                                       "tp4,pp4,dp4,vpp2,zero0",
                                       "tp2,dp32,zero3,shard8,hpz2",
                                       "tp2,cp16,dp2,kv=gather",
                                       "tp2,cp16,dp2,ulysses4"};
    for (size_t i = 0; i < G_N_ELEMENTS(cuts); i += RH_TRIES(1, 3))
        check_fold(&k, cuts[i]);
}

static double step_on(const TrainKit *k, const RhPlatform *platform, const char *layout)
{
    g_autoptr(RhProgram) p = train_build(k, layout);
    RhEngineOptions options = {0};
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, platform, &options, NULL);
    g_assert(run);
    return run->step_time_s;
}

/* SimGrid carries the traffic: halving one leaf's uplink slows the layout that crosses it, not the
 * one that stays below. */
static void halving_a_leaf_uplink_slows_only_what_crosses_it(void)
{
    const char *spec = "h100-sxm:8x8,nvlink:450GB/s,ib:100Gb/s,leaf:4,oversub:4,rail";
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", spec, "megatron", 64, 2048);
    RhLink up = -1;
    for (RhLink link = 0; link < rh_platform_links_count(k.platform) && up < 0; link++) {
        g_autofree char *name = rh_platform_link_name(k.platform, link);
        if (g_str_has_prefix(name, "leaf/0") && g_str_has_suffix(name, "/up"))
            up = link;
    }
    CU_ASSERT_TRUE_FATAL(up >= 0);
    g_autoptr(RhPlatform) halved = rh_platform_copy(k.platform);
    rh_platform_link_scale(halved, up, 0.5);
    /* dp of 8 nodes crosses leaves; pipeline of two nodes below one leaf with dp inside the node
     * does not */
    double crossing = step_on(&k, k.platform, "tp8,dp8,zero3");
    double crossing_halved = step_on(&k, halved, "tp8,dp8,zero3");
    CU_ASSERT_TRUE(crossing_halved > 1.01 * crossing);
    k.c.job.gpus = 32;
    double local = step_on(&k, k.platform, "tp8,pp1,dp4,zero3"),
           local_halved = step_on(&k, halved, "tp8,pp1,dp4,zero3");
    RH_CHECK_CLOSE(local, local_halved, 1e-8); /* the norm goes from rail to rail, 4 bytes of it */
}

int main(void)
{
    return rh_test_main(
        "train_fold",
        (RhTest[]){
            {"folded_agrees_with_unfolded_for_every_cut",
             folded_agrees_with_unfolded_for_every_cut},
            {"folded_agrees_where_stages_share_a_nic", folded_agrees_where_stages_share_a_nic},
            {"folded_agrees_where_experts_are_spread", folded_agrees_where_experts_are_spread},
            {"folded_agrees_where_rings_cross_pods", folded_agrees_where_rings_cross_pods},
            {"halving_a_leaf_uplink_slows_only_what_crosses_it",
             halving_a_leaf_uplink_slows_only_what_crosses_it},
            {0}});
}
