/* The layout that a question is about: typed, of a file or of a result; completed, canonical, legal. */
#include "cli/inputs/inputs.h"

#include <string.h>

#include "base/error.h"
#include "cli/inputs/result.h"
#include "strategies/train/recompute_layers.h"

/* Degrees whose product no machine has; products below stay far inside 32 bits. */
static bool check_ranks(const RhLayout *l, GError **error)
{
    double ranks = (double)l->tp * l->pp * l->cp * MAX(l->dp, 1);
    if (ranks <= 1 << 24)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "tp%d x pp%d x cp%d x dp%d are %.0f ranks", l->tp, l->pp,
                   l->cp, MAX(l->dp, 1), ranks);
}

/* `each`: multiplies the batch, besides the replicas. */
static bool fits_some_machine(const RhInputs *in, const RhLayout *layout, int64_t each,
                              GError **error)
{
    RhLayout l = *layout;
    RhProblem fitting = in->c;
    rh_train_complete(&in->c, &l);
    if (layout->dp == 0) {
        l.dp = MIN(l.dp, rh_train_least_replicas(&l));
        fitting.job.global_batch *= l.dp * each; /* nobody said that so many divide it */
    }
    if (!check_ranks(&l, error))
        return false;
    fitting.job.gpus = l.tp * l.pp * l.cp * l.dp;
    return rh_train_legal(&fitting, &l, error);
}

bool rh_inputs_fits_some_machine(const RhInputs *in, const RhLayout *layout, GError **error)
{
    return fits_some_machine(in, layout, 1, error);
}

bool rh_inputs_settle_layout(const RhInputs *in, RhLayout *layout, GError **error)
{
    RhLayout l = *layout;
    if (!check_ranks(&l, error))
        return false;
    if (l.tp == 1)
        l.sequence_parallel = false;
    /* Which micro-batches there may be is said with the replicas that this machine has. */
    if (l.dp == 0 && !fits_some_machine(in, &l, l.microbatch, error))
        return false;
    rh_train_complete(&in->c, &l);
    if (!rh_train_legal(&in->c, &l, error))
        return false;
    *layout = rh_train_canonical(&in->c, &l);
    rh_train_settle(&in->c, layout);
    return true;
}

bool rh_inputs_layout(const RhInputs *in, const char *strategy, RhLayout *out, GError **error)
{
    RhLayout layout = rh_train_default(&in->c);
    bool is_result = strchr(strategy, '#') || g_str_has_suffix(strategy, ".json");
    bool is_file = !is_result && g_file_test(strategy, G_FILE_TEST_EXISTS) &&
                   !g_file_test(strategy, G_FILE_TEST_IS_DIR); /* a pipe, too */
    if (is_result ? !rh_result_layout(strategy, &layout, error)
        : is_file ? !rh_layout_load(strategy, &layout, error)
                  : !rh_layout_parse(strategy, &layout, error))
        return false;
    GError *why = NULL;
    if (!rh_inputs_settle_layout(in, &layout, &why)) {
        if (!is_result && !is_file)
            g_propagate_error(error, why);
        return is_result ? rh_result_refuse(strategy, why, error)
                         : is_file && rh_layout_refuse(strategy, why, error);
    }
    *out = layout;
    return true;
}
