#pragma once
/* A parsed command line: one struct for all commands; each command's option tables decide which
 * members can be set. Zero or NULL: not given (the table fills in defaults). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    /* inputs */
    const char *workload, *platform, *profile, *library, *strategy, *stack;
    const char *launch;               /* --from: a launch of the user's */
    struct RhLaunchFile *launch_file; /* as it was read; owned */
    char **launch_options; /* options that it, or a result in its place, stands for; owned */
    char *launch_words;    /* these as text; owned */
    GPtrArray *sets;       /* const char*, "KEY=VALUE" */
    /* the job */
    int64_t global_batch, sequence, gpus;
    const char *dtype;
    /* plan */
    const char *objective, *emit, *save, *load;
    int64_t save_steps;
    bool preflight;
    GPtrArray *limits, *fixes;
    int64_t top;
    double gap_frac, risk_frac;
    bool quick, variants;
    /* show */
    bool templated, from_machine, manual;
    /* simulate */
    int64_t steps;
    bool unfolded;
    int64_t tests; /* of a non-blocking collective */
    double call_s; /* of a collective, beside its library */
    double jitter_frac;
    const char *trace, *on, *program;
    GPtrArray *besides, *scenarios; /* const char* */
    /* validate, calibrate */
    const char *suite, *cases, *only, *keep, *lab, *measure, *device, *server, *budget, *lists,
        *record, *cross;
    GPtrArray *froms, *tables; /* const char* */
    double holdout_frac, tolerance_frac, run_was_s;
    int64_t runs;
    bool controls;
    /* serve-simulate, serve-plan */
    const char *from;  /* a file that starts what is simulated */
    const char *index; /* of vectors */
    const char *requests, *lengths, *rate, *arrivals, *ttft, *tpot, *tbt, *e2e;
    double chars_per_token;
    int64_t concurrency, count;
    const char *fail;
    int64_t retries;
    double turnaround_s, ttft_timeout_s, e2e_timeout_s, mtbf_s, restart_s;
    bool skip_bad, find_rate, serve;
    const char *rate_by_hour;
    const char *mode, *error_bar;
    /* capacity */
    GPtrArray *platforms, *prices; /* const char* */
    const char *sizes, *batches;
    double tokens, by_s, budget_usd, usd_per_kwh, pue;
    /* run */
    GPtrArray *phases; /* const char* */
    const char *failures, *checkpoint, *policy, *spares, *detection, *diagnosis, *repair,
        *maintenance, *spot, *elastic, *stragglers, *stalls;
    double step_time_s, startup_s, tuning_s, reshape_s, step_jitter_frac, goodput_frac;
    int64_t replications;
    /* sweep */
    const char *shard, *folder, *retry;
    bool resumed;
    /* rl-plan */
    const char *algorithm, *placement, *transport, *generate, *sent;
    int64_t prompts, samples, minibatch, epochs, train_gpus, sandboxes, turns;
    double ahead, reward_s, pack_tokens, changed_frac, begun_frac, useful_frac, tool_s, tool_tokens,
        grow_to_tokens;
    bool reference_disabled, served_log_probs;
    /* explain */
    const char *term, *why_not;
    GPtrArray *what_ifs;
    bool replanned, sensitivity;
    int64_t versus;
    /* collective */
    const char *size;
    int64_t ranks;
    /* everywhere */
    GPtrArray *outputs;
    int64_t seed, jobs;
    double timeout_s;
    bool json, quiet, progress_disabled, help_short, help_long;
    int64_t verbosity;
    const char *color;
    GPtrArray *operands; /* const char* */
    GPtrArray *recorded; /* const char*: the words that decide the result, for its "argv" */
} RhArguments;

/* A copy of a list of words, NULL-ended; g_strfreev frees it. */
char **rh_arguments_words(const GPtrArray *words);
/* Did the command line have this option, as "--name"? Not of options that are neutral. */
bool rh_arguments_given(const RhArguments *arguments, const char *option);
void rh_arguments_clear(RhArguments *arguments);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhArguments, rh_arguments_clear)
