#include "cli/run/run_options.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/parse/key_value_options.h"
#include "strategies/run/failure_file.h"
#include "strategies/run/failure_rates.h"

bool rh_run_words_checkpoint(const char *text, RhCheckpointWords *out, GError **error)
{
    const RhOptionKey keys[] = {
        {"every", "30min", RH_QUANTITY_S, &out->every_s},
        {"storage", "2TB/s", RH_QUANTITY_BYTES_PER_S, &out->storage_bytes_per_s},
        {"client", "5GB/s", RH_QUANTITY_BYTES_PER_S, &out->client_bytes_per_s},
        {"write", "30s", RH_QUANTITY_S, &out->write_s},
        {"read", "60s", RH_QUANTITY_S, &out->read_s},
        {"memory", "1min", RH_QUANTITY_S, &out->memory_every_s},
        {"nvme", "7GB/s", RH_QUANTITY_BYTES_PER_S, &out->nvme_bytes_per_s},
        {"nvme", NULL, RH_QUANTITY_NONE, &out->drives},
        {"async", NULL, RH_QUANTITY_NONE, &out->async},
        {0}};
    g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);
    if (!rh_option_list_read("--checkpoint", words, keys, error))
        return false;
    if (out->async && out->write_s > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--checkpoint async follows from the links to host memory: write= is of "
                       "checkpoints that stop the step\nhelp: leave out one");
    return true;
}

/* --- failures --- */

/* "3%x10": a share of nodes, and how many times as often they fail. */
static bool read_bad(const char *text, RhTrainingRun *run, GError **error)
{
    const char *times = strchr(text, 'x');
    g_autofree char *share = times ? g_strndup(text, (gsize)(times - text)) : g_strdup(text);
    run->law = RH_LAW_BAD_NODES;
    if (times && rh_share_parse(share, &run->bad_frac, NULL) &&
        rh_quantity_parse(times + 1, RH_QUANTITY_COUNT, &run->bad_times, NULL))
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "--failures: bad=%s is not a share and a factor\nhelp: bad=3%%x10", text);
}

static bool read_law(const char *word, RhTrainingRun *run, GError **error)
{
    double shape = 0;
    const RhOptionKey keys[] = {{"weibull", "0.7", RH_QUANTITY_COUNT, &shape}, {0}};
    if (g_str_has_prefix(word, "bad="))
        return read_bad(word + 4, run, error);
    char *const one[] = {(char *)word, NULL};
    if (!rh_option_list_read("--failures", one, keys, error))
        return false;
    run->law = RH_LAW_WEIBULL;
    run->weibull_shape = shape;
    return true;
}

bool rh_run_words_failures(const char *text, RhFailureWords *out, RhTrainingRun *run,
                           GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    const RhFailureRates *named = rh_failure_rates_by_name(words[0]);
    run->law = RH_LAW_EXPONENTIAL;
    run->rates = &out->rates;
    out->rates = named ? *named : *rh_failure_rates_by_name(rh_failure_rates_names()[0]);
    if (!named && !g_file_test(words[0], G_FILE_TEST_EXISTS)) {
        rh_fail_unknown(error, "failure rate", words[0], rh_failure_rates_names());
        rh_error_help(error, "or a file with the times of failures: a column `seconds`");
        return false;
    }
    for (int i = 1; words[0] && words[i]; i++)
        if (!read_law(words[i], run, error))
            return false;
    if (named)
        return true;
    if (!rh_failure_file_load(words[0], &out->rates, out->trace, error))
        return false;
    if (out->trace->len == 0)
        return true;
    if (run->law != RH_LAW_EXPONENTIAL)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--failures %s: the times of a file follow no law\nhelp: leave out %s", text,
                       words[1]);
    run->law = RH_LAW_TRACE;
    run->trace = (const RhTimedFailure *)(const void *)out->trace->data;
    run->trace_count = (int32_t)out->trace->len;
    return true;
}

/* --- times after a failure --- */

static bool read_time(const char *option, const char *text, double *out, GError **error)
{
    g_autoptr(GError) inner = NULL;
    if (rh_quantity_parse_like(text, RH_QUANTITY_S, "10min", out, &inner) && *out >= 0)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "%s: %s", option,
                   inner ? inner->message : "a time is not negative");
}

bool rh_run_words_times(const char *option, const char *text, double *all_s,
                        RhComponentTimeOf *time_of, RhFailureRates *rates, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    for (int i = 0; words[i]; i++) {
        char *equals = strchr(words[i], '=');
        if (!equals) {
            if (!read_time(option, words[i], all_s, error))
                return false;
            continue;
        }
        *equals = '\0';
        int32_t component = rh_failure_rates_find(rates, words[i]);
        if (component < 0) {
            g_autofree char *known = rh_failure_rates_components(rates);
            return rh_fail(error, RH_ERROR_USAGE,
                           "%s: there is no component \"%s\"\nhelp: %s, of the rates", option,
                           words[i], known);
        }
        RhOwnTime *own = time_of(&rates->components[component]);
        if (!read_time(option, equals + 1, &own->time_s, error))
            return false;
        own->known = true;
    }
    return true;
}

RhOwnTime *rh_run_words_detection(RhFailureComponent *component)
{
    return &component->detection;
}

RhOwnTime *rh_run_words_repair(RhFailureComponent *component)
{
    return &component->repair;
}

static RhOwnTime *diagnosis_of(RhFailureComponent *component)
{
    return &component->diagnosis;
}

bool rh_run_words_diagnosis(const char *text, RhTrainingRun *run, RhFailureRates *rates,
                            GError **error)
{
    static const char missed[] = "missed=";
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    for (int i = 0; words[i]; i++) {
        bool is_share = g_str_has_prefix(words[i], missed);
        if (!is_share && !rh_run_words_times("--diagnosis", words[i], &run->diagnosis_s,
                                             diagnosis_of, rates, error))
            return false;
        if (is_share && !rh_share_parse(words[i] + strlen(missed), &run->missed_frac, error))
            return false;
    }
    return true;
}

bool rh_run_words_stragglers(const char *text, RhTrainingRun *run, GError **error)
{
    const RhOptionKey keys[] = {{"every", "5d", RH_QUANTITY_S, &run->slow_every_s},
                                {"slows", "20%", RH_QUANTITY_FRAC, &run->slow_frac},
                                {"lasts", "3h", RH_QUANTITY_S, &run->slow_lasts_s},
                                {"found", "10min", RH_QUANTITY_S, &run->slow_found_s},
                                {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!rh_option_list_read("--stragglers", words, keys, error))
        return false;
    return (run->slow_every_s > 0 && run->slow_frac > 0 && run->slow_lasts_s > 0) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "--stragglers %s: how often one begins, by how much it slows, and how long it "
                   "lasts\nhelp: every=5d,slows=20%%,lasts=3h; with found=10min it is removed",
                   text);
}

bool rh_run_words_phase(const char *text, RhPhaseWords *out, GError **error)
{
    const RhOptionKey keys[] = {{"tokens", "100B", RH_QUANTITY_TOKENS, &out->tokens},
                                {"batch", "512", RH_QUANTITY_COUNT, &out->batch},
                                {"seq", "2048", RH_QUANTITY_COUNT, &out->sequence},
                                {"step", "3.1s", RH_QUANTITY_S, &out->step_s},
                                {"drop", "50%", RH_QUANTITY_FRAC, &out->drop_frac},
                                {"whole", "15%", RH_QUANTITY_FRAC, &out->whole_frac},
                                {"silent", "50%", RH_QUANTITY_FRAC, &out->silent_frac},
                                {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!rh_option_list_read("--phase", words, keys, error))
        return false;
    if (out->tokens <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "--phase %s: no tokens\nhelp: tokens=100B", text);
    if (out->whole_frac + out->silent_frac > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--phase %s: whole= and silent= are more than all steps together", text);
    return out->drop_frac < 1 ||
           rh_fail(error, RH_ERROR_USAGE, "--phase %s: drop= is less than 100 %%", text);
}

bool rh_run_words_stalls(const char *text, RhTrainingRun *run, GError **error)
{
    const RhOptionKey keys[] = {{"every", "1h", RH_QUANTITY_S, &run->stall_every_s},
                                {"lasts", "30s", RH_QUANTITY_S, &run->stall_s},
                                {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!rh_option_list_read("--stalls", words, keys, error))
        return false;
    return (run->stall_every_s > 0 && run->stall_s > 0) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "--stalls %s: how often, and how long\nhelp: every=1h,lasts=30s", text);
}

bool rh_run_words_stops(const char *text, RhTrainingRun *run, GError **error)
{
    RhLiveMigration m = {.packed_frac = 1, .downtime_s = RH_MIGRATION_DOWNTIME_S};
    const RhOptionKey keys[] = {{"every", "30d", RH_QUANTITY_S, &run->stop_every_s},
                                {"lasts", "4h", RH_QUANTITY_S, &run->stop_s},
                                {"moves", "512GB", RH_QUANTITY_BYTES, &m.memory_bytes},
                                {"link", "25GB/s", RH_QUANTITY_BYTES_PER_S, &m.link_bytes_per_s},
                                {"dirty", "2GB/s", RH_QUANTITY_BYTES_PER_S, &m.dirty_bytes_per_s},
                                {"packed", "55.9%", RH_QUANTITY_FRAC, &m.packed_frac},
                                {"pack", "3GB/s", RH_QUANTITY_BYTES_PER_S, &m.pack_bytes_per_s},
                                {"downtime", "300ms", RH_QUANTITY_S, &m.downtime_s},
                                {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!rh_option_list_read("--maintenance", words, keys, error))
        return false;
    bool moves = m.memory_bytes > 0 && m.link_bytes_per_s > 0, lasts = run->stop_s > 0;
    bool part = !moves && (m.memory_bytes > 0 || m.link_bytes_per_s > 0 ||
                           m.dirty_bytes_per_s > 0 || m.packed_frac != 1 ||
                           m.pack_bytes_per_s > 0 || m.downtime_s != RH_MIGRATION_DOWNTIME_S);
    if (run->stop_every_s <= 0 || moves == lasts || part)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--maintenance %s: how often, and how long or what is moved meanwhile\n"
                       "help: every=30d,lasts=4h; or every=30d,moves=512GB,link=25GB/s,dirty=2GB/s",
                       text);
    if (moves) {
        run->moves = m;
        run->stop_s = fmax(rh_live_migration(&m).stopped_s, 1e-9);
    }
    return true;
}

bool rh_run_words_spot(const char *text, RhSpotWords *out, GError **error)
{
    const RhOptionKey keys[] = {{"price", "0.91USD", RH_QUANTITY_USD, &out->usd_per_gpu_hour}, {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    return rh_option_list_read("--spot", words + (words[0] != NULL), keys, error) &&
           rh_spot_trace_load(words[0], out->events, out->prices, error) &&
           (out->prices->len == 0 || out->usd_per_gpu_hour <= 0 ||
            rh_fail(error, RH_ERROR_USAGE,
                    "--spot %s: the trace has prices of its own\nhelp: leave out price=", text));
}

/* --- spares --- */

bool rh_run_words_spares(const char *text, RhTrainingRun *run, GError **error)
{
    double hot = 0, cold = 0;
    const RhOptionKey keys[] = {{"hot", "8", RH_QUANTITY_COUNT, &hot},
                                {"cold", "8", RH_QUANTITY_COUNT, &cold},
                                {"swap", "10min", RH_QUANTITY_S, &run->swap_s},
                                {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!rh_option_list_read("--spares", words, keys, error))
        return false;
    if (hot != (double)(int32_t)hot || cold != (double)(int32_t)cold)
        return rh_fail(error, RH_ERROR_USAGE, "--spares counts whole nodes");
    run->hot_spares = (int32_t)hot;
    run->cold_spares = (int32_t)cold;
    return true;
}
