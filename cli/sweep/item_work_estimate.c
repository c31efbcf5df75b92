#include "cli/sweep/item_work_estimate.h"

#include <math.h>

#include "cli/capacity/capacity_query.h"
#include "cli/rl/rl_options.h"
#include "cli/serve/serve_requests.h"
#include "strategies/search/memory_smallest.h"
#include "strategies/train/train.h"

/* Tasks of a layer of one rank are about as many for each micro-batch, and what a search rehearses are mostly the layouts with
 * the least model parallelism: those with the fewest GPUs for a replica. */
static double work_of_search(const RhInputs *in)
{
    const RhProblem *c = &in->c;
    double bytes = c->platform->device->hbm_bytes.value;
    RhTrainingStates states = rh_training_states(c);
    double replica = bytes > 0 ? fmax(ceil(rh_training_states_bytes(&states) / bytes), 1) : 1;
    return c->model->layers_count * ceil((double)c->job.global_batch * replica / c->job.gpus);
}

double rh_item_work_training(const RhArguments *a)
{
    g_autoptr(RhInputs) in = rh_inputs_of(a, NULL);
    RhLayout layout;
    if (!in)
        return 0;
    if (!a->strategy)
        return work_of_search(in);
    return rh_inputs_layout(in, a->strategy, &layout, NULL) ? rh_train_tasks(&in->c, &layout) : 0;
}

double rh_item_work_service(const RhArguments *a)
{
    g_autoptr(RhServeRequests) asked = rh_serve_requests_of(a, !a->rate, NULL);
    return asked ? asked->list->list->len : 0;
}

double rh_item_work_capacity(const RhArguments *a)
{
    double work = 0;
    if (a->requests || a->lengths)
        return rh_item_work_service(a);
    RhCapacityQuery q = rh_capacity_query_new(a);
    if (rh_capacity_query_read(&q, NULL) && rh_capacity_query_load(&q, NULL))
        for (guint i = 0; i < q.inputs->len; i++)
            work += work_of_search(g_ptr_array_index(q.inputs, i));
    rh_capacity_query_clear(&q);
    return work;
}

double rh_item_work_rl(const RhArguments *a)
{
    RhArguments words = *a;
    RhRlJob job = {0};
    g_autoptr(RhRequests) lengths = NULL;
    if (!rh_rl_words_job(a, &job, &lengths, NULL))
        return 0;
    words.global_batch = rh_rl_step_samples(&job);
    words.sequence = 1;
    g_autoptr(RhInputs) in = rh_inputs_of(&words, NULL);
    return in ? work_of_search(in) : 0;
}
