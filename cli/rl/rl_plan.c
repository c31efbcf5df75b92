/* rehearse rl-plan: how are trainer and rollouts of a reinforcement job placed? */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/inputs/inputs.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/rl/rl_options.h"
#include "report/rl/rl_picture.h"
#include "report/rl/rl_plan_report.h"
#include "strategies/rl/algorithms/algorithms.h"
#include "strategies/rl/emitters/emitters.h"
#include "strategies/rl/placements/placements.h"
#include "strategies/serve/server_software.h"

#define MTBF_LEAST_S 60.0

typedef struct {
    const RhArguments *a;
    RhArguments words; /* with the batch and the sequence that a training job is checked by */
    RhRequests *lengths;
    RhRlJob job;
    RhRlPlanOptions options;
    RhFailures failures;
    RhInputs *in;
    RhServer *server;
} Query;

static void settle(Query *q)
{
    RhRlPlanOptions *o = &q->options;
    o->problem = &q->in->c;
    o->hardware = q->in->hardware;
    o->server = q->server;
    o->job = &q->job;
    q->failures = (RhFailures){.mtbf_s = q->a->mtbf_s,
                               .restart_s = q->a->restart_s,
                               .retries = G_MAXINT32,
                               .seed = (uint64_t)q->a->seed};
    o->failures = q->a->mtbf_s > 0 ? &q->failures : NULL;
    o->top = (int32_t)q->a->top;
    o->jobs = (int32_t)q->a->jobs;
    o->timeout_s = rh_terminal_left_s(q->a->timeout_s);
    o->progress = rh_terminal_progress;
}

static bool check_split(const Query *q, GError **error)
{
    int32_t all = q->in->c.job.gpus;
    if (q->options.train_gpus < all)
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "--train-gpus %d: of %d GPUs none is left for answers\n"
                   "help: --placement colocated is where they take turns on all",
                   q->options.train_gpus, all);
}

static bool load(Query *q, GError **error)
{
    q->words = *q->a;
    q->words.global_batch = rh_rl_step_samples(&q->job);
    q->words.sequence = 1;
    q->in = rh_inputs_of(&q->words, error);
    if (q->in && !rh_inputs_alone_on_gpus(q->in, "rl-plan", error))
        return false;
    if (q->a->mtbf_s > 0 && q->a->mtbf_s < MTBF_LEAST_S)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--mtbf: servers that fail more often than once a minute serve nothing\n"
                       "help: a longer time");
    if (!q->in || !check_split(q, error))
        return false;
    if (!rh_model_makes_tokens(q->in->model))
        return rh_fail(error, RH_ERROR_USAGE, "%s makes no tokens: there is nothing to reward",
                       q->in->model->name);
    q->server = rh_server_load(q->options.given.server, error);
    if (q->server)
        rh_rl_server_adds_log_probs(q->server);
    return q->server != NULL;
}

static bool write_files(const Query *q, const RhRlPlan *plan, const char *text, const char *json,
                        GError **error)
{
    bool drawn = plan->entries->len > 0 && rh_outputs_find(q->a->outputs, RH_OUTPUT_HTML);
    g_autofree char *svg =
        drawn ? rh_report_rl_timeline_svg(&g_array_index(plan->entries, RhRlEntry, 0)) : NULL;
    RhPagePicture picture = {.id = "rl-timeline",
                             .title = "The best placement over time",
                             .caption =
                                 "Above, what the trainer does: it waits, brings states back, "
                                 "trains or sends weights. Below, prompts whose answers are "
                                 "being made, and those that are ready and wait for it.",
                             .svg = svg,
                             .wide = true};
    RhPage page = {.command = "rl-plan",
                   .answer = text,
                   .json = json,
                   .pictures = &picture,
                   .pictures_count = svg ? 1 : 0};
    return rh_outputs_write_page(q->a->outputs, &page, error);
}

static bool print_words(const Query *q, const RhRlPlan *plan, GError **error)
{
    const RhRlEmitter *emitter = rh_rl_emitter_by_name(q->a->emit);
    const RhRlEntry *e = &g_array_index(plan->entries, RhRlEntry, 0);
    RhRlSetup setup = {.model = q->a->workload,
                       .job = &q->job,
                       .placement = e->placement,
                       .ahead = e->ahead,
                       .layout = &e->trainer.layout,
                       .servers = &e->servers.deployment.pools[0],
                       .server = e->servers.deployment.server,
                       .train_gpus = e->trainer.gpus,
                       .server_gpus = e->servers.gpus,
                       .node_gpus = q->in->hardware->gpus_per_node,
                       .packed_tokens = e->trainer.sequence,
                       .longest_prompt = plan->tokens.longest_prompt,
                       .longest_answer = q->job.answer.most > 0 ? q->job.answer.most
                                                                : plan->tokens.longest_answer};
    g_autofree char *words = emitter->words(&setup, error);
    if (!words)
        g_prefix_error(error, "--emit: ");
    else
        printf("\n# %s: words that decide cost; names: %s\n%s", emitter->name, emitter->checked,
               words);
    return words != NULL;
}

static int show(const Query *q, const RhRlPlan *plan, const RhRlGrowth *growth, GError **error)
{
    RhRlAnswer answer = {.q = &q->in->question,
                         .options = &q->options,
                         .plan = plan,
                         .growth = growth,
                         .verbosity = (int)q->a->verbosity};
    g_autofree char *text = rh_report_rl_text(&answer), *json = rh_report_rl_json(&answer);
    fputs(q->a->json ? json : text, stdout);
    bool told = q->a->json || !q->a->emit || plan->entries->len == 0 || print_words(q, plan, error);
    rh_output_answered();
    if (!told || !write_files(q, plan, text, json, error))
        return 3;
    return plan->entries->len > 0 ? 0 : 1;
}

static int answer(Query *q, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (!rh_outputs_check(q->a->outputs, kinds, error))
        return 2;
    if (!rh_rl_words_job(q->a, &q->job, &q->lengths, error) ||
        !rh_rl_words_search(q->a, &q->options, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    if (!load(q, error))
        return 3;
    settle(q);
    g_autoptr(RhRlPlan) plan = rh_rl_plan(&q->options, error);
    RhRlGrowthSpec spec = {.to_tokens = q->a->grow_to_tokens, .steps = q->a->steps};
    RhRlGrowth growth = {0};
    bool grows = spec.to_tokens > 0 && plan && plan->entries->len > 0;
    bool known = plan && (!grows || rh_rl_growth(&q->options, &spec, plan, &growth, error));
    rh_terminal_progress_end();
    int status = known ? show(q, plan, grows ? &growth : NULL, error) : 1;
    rh_rl_growth_clear(&growth);
    return status;
}

static int run(const RhArguments *a, GError **error)
{
    Query q = {.a = a};
    int status = answer(&q, error);
    rh_inputs_free(q.in);
    rh_requests_free(q.lengths);
    g_free(q.server);
    return status;
}

static const RhOption own[] = {
    RH_OPTION(prompts, "prompts", 0, RH_OPTION_INTEGER, "N", "prompts of a step", .required = true,
              .low = 1, .high = 1 << 22),
    RH_OPTION(samples, "samples", 0, RH_OPTION_INTEGER, "N",
              "answers to each prompt (grpo and dapo 16, rloo 4, ppo 1)", .low = 1,
              .high = 1 << 16),
    RH_OPTION(lengths, "lengths", 0, RH_OPTION_TEXT, "LIST",
              "tokens: in=512,out=4k; answers with a long tail: sigma=0.8 (deviation of the "
              "logarithm), max=16k (limit of an answer); in-min=100: prompts from 100 to in",
              .required = true, .unless = "requests"),
    RH_OPTION(grow_to_tokens, "grow-to", 0, RH_OPTION_QUANTITY, "8k",
              "mean answer of the last step, which it grows to evenly: which placement is the best "
              "over all --steps",
              .quantity = RH_QUANTITY_TOKENS, .positive = true),
    RH_OPTION(steps, "steps", 0, RH_OPTION_INTEGER, "N", "steps of the run, for --grow-to",
              .low = 2, .high = 1 << 24),
    RH_OPTION(requests, "requests", 0, RH_OPTION_TEXT, "FILE",
              "lengths of prompts and answers to draw from: columns input_tokens,output_tokens, "
              "or a trace as serve-simulate reads it",
              .unless = "lengths"),
    RH_OPTION(chars_per_token, "chars-per-token", 0, RH_OPTION_QUANTITY, "N",
              "characters of a token, where --requests holds texts", .otherwise = "4",
              .quantity = RH_QUANTITY_COUNT, .positive = true),
    RH_OPTION(skip_bad, "skip-bad", 0, RH_OPTION_FLAG, NULL,
              "skip malformed lines of --requests, and say how many"),
    RH_OPTION(algorithm, "algorithm", 0, RH_OPTION_TEXT, "NAME",
              "grpo, dapo, rloo, or ppo (with a critic and a reward model of the same size)",
              .names = rh_rl_algorithm_names, .otherwise = "grpo"),
    RH_OPTION(minibatch, "minibatch", 0, RH_OPTION_INTEGER, "N",
              "samples of an update (all of a step)", .low = 1, .high = 1 << 24),
    RH_OPTION(epochs, "epochs", 0, RH_OPTION_INTEGER, "N",
              "times that the trainer goes through a step's samples", .otherwise = "1", .low = 1,
              .high = 100),
    RH_OPTION(reference_disabled, "no-reference", 0, RH_OPTION_FLAG, NULL,
              "no reference policy is asked (no KL penalty)"),
    RH_OPTION(served_log_probs, "served-log-probs", 0, RH_OPTION_FLAG, NULL,
              "old log-probabilities are those of the servers, without a pass of the trainer"),
    RH_OPTION(reward_s, "reward", 0, RH_OPTION_QUANTITY, "2s",
              "from an answer to its reward: a rule, a sandbox (none)", .quantity = RH_QUANTITY_S),
    RH_OPTION(sandboxes, "sandboxes", 0, RH_OPTION_INTEGER, "N",
              "rewards that can be computed at once (any number)", .low = 1, .high = 1 << 20),
    RH_OPTION(turns, "turns", 0, RH_OPTION_INTEGER, "N",
              "turns of an answer, between which it asks a tool; out= and max= in --lengths are of "
              "all turns together",
              .otherwise = "1", .low = 1, .high = 1000),
    RH_OPTION(tool_s, "tool-wait", 0, RH_OPTION_QUANTITY, "3s",
              "from a turn's end until the tool has answered (none)", .quantity = RH_QUANTITY_S),
    RH_OPTION(tool_tokens, "tool-tokens", 0, RH_OPTION_QUANTITY, "200",
              "tokens of what a tool answers, which the next turn and the trainer read (none)",
              .quantity = RH_QUANTITY_TOKENS),
    RH_OPTION(begun_frac, "begin", 0, RH_OPTION_QUANTITY, "1.5",
              "prompts that a batch begins for each that is trained on; what is still written when "
              "enough have their rewards is dropped (not in async)",
              .otherwise = "1", .quantity = RH_QUANTITY_COUNT, .positive = true),
    RH_OPTION(useful_frac, "useful", 0, RH_OPTION_QUANTITY, "60%",
              "prompts whose answers differ in their rewards; the others are replaced (dynamic "
              "sampling)",
              .otherwise = "100%", .quantity = RH_QUANTITY_FRAC, .positive = true),
    RH_OPTION(placement, "placement", 0, RH_OPTION_TEXT, "NAME",
              "colocated (turns on the same GPUs), apart (turns), one-off, async, or any",
              .names = rh_rl_placement_names, .otherwise = "any"),
    RH_OPTION(ahead, "ahead", 0, RH_OPTION_QUANTITY, "1",
              "steps that answers may run ahead in async, also 0.5 (0.5, 1, 2 and 4 are tried)",
              .quantity = RH_QUANTITY_COUNT, .positive = true),
    RH_OPTION(
        train_gpus, "train-gpus", 0, RH_OPTION_INTEGER, "N",
        "GPUs that train, where they are apart (splits by nodes, or by parts of few nodes, are tried)",
        .low = 1, .high = 1 << 22),
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "STRATEGY",
              "training layout: like tp2,pp1,zero3 (the best one of each split)"),
    RH_OPTION(mtbf_s, "mtbf", 0, RH_OPTION_QUANTITY, "10h",
              "mean time between failures of each server, at random times: what they cost the best "
              "row (no failures)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(restart_s, "restart", 0, RH_OPTION_QUANTITY, "90s",
              "until a server that failed serves again (what it takes to start)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(generate, "generate", 0, RH_OPTION_TEXT, "DEPLOYMENT",
              "fixed keys of the servers, like server=sglang,tp2,batch=512; the others are "
              "searched (server=vllm)"),
    RH_OPTION(transport, "transport", 0, RH_OPTION_TEXT, "NAME",
              "how weights get to servers on other GPUs: broadcast (tensor by tensor), pipelined "
              "(in buckets that are gathered while others are sent), engine (by way of host "
              "memory), or delta (those that changed)",
              .names = rh_weight_transport_names, .otherwise = "broadcast"),
    RH_OPTION(changed_frac, "changed", 0, RH_OPTION_QUANTITY, "2%",
              "weights that a step changes, for --transport delta", .otherwise = "2%",
              .quantity = RH_QUANTITY_FRAC, .positive = true),
    RH_OPTION(sent, "sent", 0, RH_OPTION_CHOICE, "TYPE",
              "format of weights on their way (that of --dtype)", .choices = "bf16|fp8|fp8-block"),
    RH_OPTION(pack_tokens, "pack", 0, RH_OPTION_QUANTITY, "32k",
              "tokens of a packed micro-batch at most (twice the longest sample)",
              .quantity = RH_QUANTITY_TOKENS, .positive = true),
    RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N",
              "GPUs of trainer and servers together (all of the platform)", .low = 1,
              .high = 1 << 20),
    RH_OPTION(dtype, "dtype", 0, RH_OPTION_CHOICE, "TYPE",
              "number formats of training and of the servers' weights",
              .choices = RH_RECIPE_CHOICES, .otherwise = "bf16"),
    RH_OPTION(emit, "emit", 0, RH_OPTION_CHOICE, "FRAMEWORK",
              "print the words of a framework's configuration that decide cost, for the best row; "
              "where trainer and servers are apart, nodes are parted whole: see --train-gpus",
              .choices = "verl|nemo-rl|areal|openrlhf"),
    RH_OPTION(top, "top", 0, RH_OPTION_INTEGER, "K", "rows to list", .otherwise = "8", .low = 1,
              .high = 1000),
    {0}};
static const RhOption *const tables[] = {rh_options_inputs, own, rh_options_shared, rh_options_help,
                                         NULL};

const RhCommand rh_command_rl_plan = {
    .name = "rl-plan",
    .operands = "",
    .summary = "how do I place trainer and rollouts of a reinforcement job?",
    .about = "Plans post-training by reinforcement: in a step servers answer every prompt\n"
             "several times, answers get rewards, and the trainer updates the weights, which\n"
             "servers then take.\n\n"
             "Tries placements (trainer and servers in turns on the same GPUs, or on GPUs of\n"
             "their own in turns, one step off, asynchronously with a bounded queue), splits\n"
             "of the GPUs, the best training layout of each split and deployments of servers.\n"
             "Steps are simulated: a service answers a step's prompts at once (continuous\n"
             "batching, the prompt of a group cached), until the last is there; the trainer\n"
             "computes log-probabilities and updates; weights are gathered and broadcast.\n\n"
             "Staleness: updates of the weights between a prompt's start and its training. At\n"
             "most prompts x (ahead + 1) are under way, which bounds the mean staleness by\n"
             "ahead; answers that take longer than others get older.\n",
    .examples = "rehearse rl-plan -w qwen2.5-7b -p dgx-h100:4 --prompts 256 --samples 16 \\\n"
                "    --lengths in=512,out=2k,sigma=0.8,max=8k\n"
                "rehearse rl-plan -w qwen3-30b-a3b -p dgx-h100:4 --prompts 64 --samples 32 \\\n"
                "    --lengths in=256,out=3k,sigma=0.4,max=4k --minibatch 512 \\\n"
                "    --placement async --ahead 2 --train-gpus 16",
    .tables = tables,
    .run = run,
};
