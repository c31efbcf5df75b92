/* Figures of validations, the ping-pong fit, payloads, topologies and patterns: no MPI is needed.
 */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "accuracy/validation_suite_results.h"
#include "base/error.h"
#include "calibrate/links/pingpong_fit.h"
#include "platforms/profile.h"
#include "report/validation/validation.h"
#include "tests/kit/engine_kit.h"
#include "validate/suites/deadlock_compare.h"
#include "validate/suites/lab_topology_write.h"
#include "validate/suites/pattern_programs.h"
#include "validate/suites/smpi.h"
#include "validate/suites/suite_cases.h"
#include "validate/suites/thresholds.h"

/* --- figures --- */

static void add_case(RhValidation *v, const char *group, double measured, double predicted)
{
    RhValidationCase c = {.group = group,
                          .source = "lab",
                          .metric = "step_time",
                          .measured = measured,
                          .predicted = predicted,
                          .control = {measured, 2 * measured},
                          .start_error_frac = -1};
    c.id = g_strdup_printf("%s %u", group, v->cases->len);
    g_array_append_val(v->cases, c);
}

static void figures_are_what_they_are_called(void)
{
    g_autoptr(RhValidation) v = rh_validation_new("test");
    double off[] = {0.01, -0.02, 0.03, -0.04, 0.20};
    for (size_t i = 0; i < G_N_ELEMENTS(off); i++)
        add_case(v, "layout", 1 + (double)i, (1 + (double)i) * (1 + off[i]));
    add_case(v, "other", 1, 1);
    RhValidationFigures f = rh_validation_figures(v, "layout");
    CU_ASSERT_EQUAL(f.count, 5);
    RH_CHECK_CLOSE(f.mape_frac, 0.06, 1e-12);
    RH_CHECK_CLOSE(f.median_abs_error_frac, 0.03, 1e-12);
    RH_CHECK_CLOSE(f.worst_abs_error_frac, 0.20, 1e-12);
    RH_CHECK_CLOSE(f.bias_frac, 0.036, 1e-12);
    CU_ASSERT_STRING_EQUAL(f.worst_id, "layout 4");
    RH_CHECK_CLOSE(f.spearman, 1, 1e-12);
    RH_CHECK_CLOSE(f.kendall, 1, 1e-12);
    CU_ASSERT_EQUAL(f.regret_frac, 0);
    CU_ASSERT_EQUAL(f.control_mape_frac[RH_CONTROL_FLUID], 0);
    CU_ASSERT_EQUAL(f.control_mape_frac[RH_CONTROL_ALPHA_BETA], 1);
}

static void a_wrong_pick_costs_its_regret(void)
{
    g_autoptr(RhValidation) v = rh_validation_new("test");
    add_case(v, "layout", 1.0, 1.3);
    add_case(v, "layout", 1.1, 1.0);
    add_case(v, "layout", 2.0, 2.0);
    RhValidationFigures f = rh_validation_figures(v, NULL);
    RH_CHECK_CLOSE(f.regret_frac, 0.1, 1e-12);
    RH_CHECK_CLOSE(f.kendall, 1.0 / 3, 1e-12);
    RH_CHECK_CLOSE(f.spearman, 0.5, 1e-12);
}

static void skipped_cases_count_in_no_figure_and_miss_a_bar(void)
{
    g_autoptr(RhValidation) v = rh_validation_new("test");
    add_case(v, "pattern", 1, 1.01);
    add_case(v, "pattern", 1, 5);
    g_array_index(v->cases, RhValidationCase, 1).skipped = g_strdup("not performed");
    RhValidationFigures f = rh_validation_figures(v, "pattern");
    CU_ASSERT_TRUE(f.count == 1 && f.skipped_count == 1);
    RH_CHECK_CLOSE(f.mape_frac, 0.01, 1e-9);
    rh_thresholds_judge(v);
    CU_ASSERT_EQUAL(v->missed->len, 1);
    g_autofree char *json = rh_report_validation_json(v);
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"skipped\": \"not performed\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"schema\": \"rehearse.validate/1\""));
}

static void bars_are_missed_by_name(void)
{
    g_autoptr(RhValidation) v = rh_validation_new("test");
    for (int i = 0; i < 12; i++)
        add_case(v, "iteration", 1 + i, (1 + i) * 1.20);
    rh_thresholds_judge(v);
    CU_ASSERT_EQUAL(v->missed->len, 3); /* mean, worst, and a control that is exact */
    CU_ASSERT_PTR_NOT_NULL(strstr(g_ptr_array_index(v->missed, 0), "iteration: mean error 20.0 %"));
}

/* Ahead over the whole table, behind in one group: that group says so. */
static void a_simpler_model_ahead_in_a_group_is_named(void)
{
    g_autoptr(RhValidation) v = rh_validation_new("test");
    for (int i = 0; i < 6; i++) {
        add_case(v, "pattern", 1 + i, (1 + i) * 1.05);
        add_case(v, "small collective", 1 + i, (1 + i) * 1.20);
    }
    for (guint i = 0; i < v->cases->len; i++) {
        RhValidationCase *c = &g_array_index(v->cases, RhValidationCase, i);
        bool pattern = g_str_equal(c->group, "pattern");
        c->control[RH_CONTROL_FLUID] = c->measured * (pattern ? 1.02 : 1.5);
    }
    rh_thresholds_judge(v);
    CU_ASSERT_EQUAL_FATAL(v->missed->len, 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(g_ptr_array_index(v->missed, 0), "small collective: mean error 20.0 %"));
    CU_ASSERT_EQUAL_FATAL(v->notes->len, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(g_ptr_array_index(v->notes, 0), "pattern: fluid does as well"));
}

/* --- the fit --- */

/* Seconds of a message of the lab at a latency of its NIC, without copies and noise. */
static double rehearsed_trip_s(RhPlatform *p, double bytes, double latency_s)
{
    RhPing ping = {.destination = 4, .bytes = bytes};
    p->messages.copy_bytes_per_s.value = p->messages.noise_s.value = 0;
    p->nic_latency_s.value = latency_s;
    CU_ASSERT_TRUE(rh_ping_rehearse(p, &ping, 0, &ping.seconds, NULL));
    return ping.seconds;
}

/* Trips as a rehearsal with known latency, copies and noise gives them. Each is rehearsed only where a link refills
 * meanwhile: elsewhere a trip takes longer by what is added to the latency. */
static GArray *made_up_pings(double latency_s, double noise_s, double copy_s_per_byte)
{
    g_autoptr(RhPlatform) p = kit_platform("lab-star");
    GArray *pings = g_array_new(FALSE, FALSE, sizeof(RhPing));
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (double bytes = 4; bytes <= 1 << 20; bytes *= 4) {
        double trip_s = rehearsed_trip_s(p, bytes, latency_s);
        double longer_s = rehearsed_trip_s(p, bytes, 3 * latency_s) - trip_s;
        bool adds = fabs(longer_s - 2 * latency_s) < 1e-9;
        for (int i = 0; i < RH_TRIES(60, 30); i++) {
            double half_s =
                (gsl_ran_exponential(rng, noise_s) + gsl_ran_exponential(rng, noise_s)) / 2;
            double added_s = half_s - noise_s + copy_s_per_byte * bytes;
            RhPing ping = {.destination = 4, .bytes = bytes, .seconds = trip_s + added_s};
            if (!adds)
                ping.seconds = rehearsed_trip_s(p, bytes, latency_s + added_s);
            g_array_append_val(pings, ping);
        }
    }
    for (int i = 0; i < 1000; i++) {
        RhPing ping = {
            .reaction = true, .destination = 4, .seconds = gsl_ran_exponential(rng, 5e-5)};
        g_array_append_val(pings, ping);
    }
    gsl_rng_free(rng);
    return pings;
}

static void the_fit_finds_what_was_put_in(void)
{
    g_autoptr(RhPlatform) p = kit_platform("lab-star");
    g_autoptr(GArray) pings = made_up_pings(2e-4, 6e-5, 2e-9);
    RhPingFit fit;
    CU_ASSERT_TRUE_FATAL(rh_pings_fit(pings, p, 0, &fit, NULL));
    RH_CHECK_CLOSE(fit.latency_s, 2e-4, 0.05);
    RH_CHECK_CLOSE(fit.noise_s, 6e-5, 0.25);
    RH_CHECK_CLOSE(fit.copy_s_per_byte, 2e-9, 0.3);
    RH_CHECK_CLOSE(fit.reaction_s, 5e-5, 0.1);
    CU_ASSERT_TRUE(fit.mape_frac < 0.03);
    g_autofree char *text = rh_pings_profile(&fit, p, "made up", "2026-11");
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("rehearse-profile-XXXXXX.json", &path, NULL);
    CU_ASSERT_TRUE_FATAL(file >= 0 && g_file_set_contents(path, text, -1, NULL));
    g_autoptr(RhPlatform) other = kit_platform("lab-2x4");
    g_autofree char *hash = g_strdup(other->hash);
    CU_ASSERT_TRUE(rh_platform_apply_profile(other, path, NULL));
    RH_CHECK_CLOSE(other->nvlink_latency_s.value, fit.latency_s, 1e-5);
    RH_CHECK_CLOSE(1 / other->messages.copy_bytes_per_s.value, fit.copy_s_per_byte, 1e-5);
    CU_ASSERT_EQUAL(other->nic_latency_s.tag, RH_TAG_FITTED);
    CU_ASSERT_STRING_NOT_EQUAL(other->hash, hash);
    remove(path);
}

/* Trips of 4 B, 2 KiB and so on between two pairs that lie alike, each twice: few sizes, as every one is rehearsed for
 * every guess of a fit, and what lies alike is not. */
static GArray *straight_pings(int32_t source, int32_t destination, int sizes, double latency_s,
                              double s_per_byte)
{
    GArray *pings = g_array_new(FALSE, FALSE, sizeof(RhPing));
    double bytes = 4;
    for (int size = 0; size < sizes; size++, bytes *= 512)
        for (int i = 0; i < 4; i++) {
            RhPing ping = {false, source + i / 2, destination + i / 2, bytes,
                           latency_s + s_per_byte * bytes};
            g_array_append_val(pings, ping);
        }
    return pings;
}

static void check_refused(const GArray *pings, const char *platform, const char *why)
{
    g_autoptr(RhPlatform) p = kit_platform(platform);
    g_autoptr(GError) error = NULL;
    RhPingFit fit;
    CU_ASSERT_FALSE(rh_pings_fit(pings, p, 0, &fit, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, why));
}

static void pings_that_cannot_tell_are_refused(void)
{
    g_autoptr(GArray) one_size = g_array_new(FALSE, FALSE, sizeof(RhPing));
    for (int32_t i = 0; i < 64; i++) {
        RhPing ping = {false, i % 8, 8 + i / 8, 4096, 1e-5};
        g_array_append_val(one_size, ping);
    }
    check_refused(one_size, "dgx-h100:2", "1 different sizes");
    g_autoptr(GArray) flat = straight_pings(0, 8, 3, 1e-5, 0); /* faster than the link */
    check_refused(flat, "dgx-h100:2", "do not grow with the bytes");
    g_autoptr(GArray) slow = straight_pings(0, 8, 3, 1e-5, 1e-3); /* a kilobyte a second */
    check_refused(slow, "dgx-h100:2", "nic.efficiency");
    g_autoptr(GArray) both = straight_pings(0, 8, 3, 1e-5, 2.5e-11);
    g_autoptr(GArray) inside = straight_pings(0, 1, 3, 2e-6, 3e-12);
    g_array_append_vals(both, inside->data, inside->len);
    check_refused(both, "dgx-h100:2", "these are two links");
}

static void a_ping_between_nodes_changes_the_nic_alone(void)
{
    g_autoptr(RhPlatform) p = kit_platform("dgx-h100:2");
    double hops_s = rh_platform_route_latency_s(p, 0, 8) - p->nic_latency_s.value;
    g_autoptr(GArray) pings =
        straight_pings(0, 8, 3, 1e-5 + hops_s, 1.25 / p->nic_bytes_per_s.value);
    RhPingFit fit;
    CU_ASSERT_TRUE_FATAL(rh_pings_fit(pings, p, 0, &fit, NULL));
    g_autofree char *text = rh_pings_profile(&fit, p, "made up", "2026-11");
    g_autoptr(RhPlatform) with = kit_platform("dgx-h100:2");
    g_autoptr(RhJson) doc = rh_json_parse("profile.json", text, strlen(text), NULL);
    CU_ASSERT_TRUE_FATAL(doc && rh_platform_apply_profile_json(with, doc, NULL));
    RH_CHECK_CLOSE(with->nic_latency_s.value, 1e-5, 1e-3);
    RH_CHECK_CLOSE(with->nic_efficiency_frac.value, 0.8, 1e-3);
    RH_CHECK_CLOSE(with->nvlink_latency_s.value, p->nvlink_latency_s.value, 1e-12);
    CU_ASSERT_PTR_NULL(strstr(text, "messages."));
}

static void a_fit_ends_in_its_time(void)
{
    g_autoptr(RhPlatform) p = kit_platform("lab-star");
    g_autoptr(GArray) pings = straight_pings(0, 1, 3, 1e-4, 1e-7);
    g_autoptr(GError) error = NULL;
    RhPingFit fit;
    CU_ASSERT_FALSE(rh_pings_fit(pings, p, 1e-3, &fit, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
}

static void wrong_ping_files_are_refused_with_their_line(void)
{
    static const char *const texts[] = {"bytes,seconds\n",
                                        "kind,source,destination,bytes,seconds\ntrip,0,1,1e12,1\n",
                                        "kind,source,destination,bytes,seconds\ntrip,0,1,4\n",
                                        "kind,source,destination,bytes,seconds\ntrip,0,1,4,fast\n",
                                        "kind,source,destination,bytes,seconds\ntrip,0,0,4,1e-5\n",
                                        "kind,source,destination,bytes,seconds\nwalk,0,1,4,1e-5\n",
                                        "kind,source,destination,bytes,seconds\ntrip,0,1,4,0\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *path = NULL;
        g_autoptr(GError) error = NULL;
        int file = g_file_open_tmp("rehearse-pings-XXXXXX.csv", &path, NULL);
        CU_ASSERT_TRUE_FATAL(file >= 0 && g_file_set_contents(path, texts[i], -1, NULL));
        CU_ASSERT_PTR_NULL(rh_pings_load(path, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, i ? ".csv:2" : ".csv:1"));
        remove(path);
    }
}

/* --- what the lab is given --- */

static int count_lines(const char *text, const char *start)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    int count = 0;
    for (char **line = lines; *line; line++)
        count += g_str_has_prefix(*line, start);
    return count;
}

static void topologies_hold_every_host_and_link(void)
{
    g_autoptr(RhPlatform) nodes = kit_platform("lab-2x4:3");
    g_autofree char *text = rh_lab_topology(nodes, NULL);
    CU_ASSERT_EQUAL(count_lines(text, "host "), 12);
    CU_ASSERT_EQUAL(count_lines(text, "switch "), 3 + 3 + 1);
    CU_ASSERT_EQUAL(count_lines(text, "link "), 12 + 12 + 3);
    CU_ASSERT_EQUAL(count_lines(text, "route "), 12 * 11);
    g_autoptr(RhPlatform) tree = kit_platform("lab-tree");
    g_autofree char *uplinks = rh_lab_topology(tree, NULL);
    CU_ASSERT_EQUAL(count_lines(uplinks, "link t0g"), 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(uplinks, "link t0g3 t1g0 12500000 12500000 18000"));
    CU_ASSERT_TRUE(rh_platform_set(tree, "link.nic/node2/0/tx", "50%", NULL));
    g_autofree char *slowed = rh_lab_topology(tree, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(slowed, "link r2 t0g1 6250000 12500000 18000"));
}

static void smpi_gets_every_link_and_route(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("lab-2x4", NULL);
    g_autoptr(RhPlatform) gpus = rh_platform_load("dgx-h100:1", NULL);
    g_autofree char *xml = rh_smpi_platform(p, NULL);
    g_auto(GStrv) links = g_strsplit(xml, "<link id=\"link", -1);
    g_auto(GStrv) routes = g_strsplit(xml, "<route ", -1);
    CU_ASSERT_EQUAL((int32_t)g_strv_length(links) - 1, rh_platform_links_count(p));
    CU_ASSERT_EQUAL(g_strv_length(routes) - 1, 8 * 7);
    CU_ASSERT_PTR_NOT_NULL(strstr(xml, "12408475.7Bps")); /* 12.5 MB/s x 8948 / 9014 */
    CU_ASSERT_PTR_NULL(rh_smpi_platform(gpus, NULL));
}

static void stopped_ranks_are_compared(void)
{
    const char *foreseen = "note: rank 0 waits in task 4 (recv)\nnote: rank 1 waits in task 5 (x)";
    const char *seen = "rank 0 waits in task 4 (recv)\nrank 1 waits in task 6 (x) since 0.1 s\n";
    g_autofree char *why = NULL;
    g_autofree char *both = rh_deadlock_compare(foreseen, seen, 8, &why);
    CU_ASSERT_STRING_EQUAL(both,
                           "both stop and tell who waits: 2 ranks simulated, 2 performed, 1 of "
                           "them in the same task");
    CU_ASSERT_PTR_NULL(rh_deadlock_compare(foreseen, NULL, 8, &why));
    CU_ASSERT_STRING_EQUAL(why, "the real run did not tell who waits");
}

static void networks_that_are_no_lab_are_refused(void)
{
    static const char *const specs[] = {"dgx-h100:2", "lab-star:65"};
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        g_autoptr(RhPlatform) p = kit_platform(specs[i]);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_lab_topology(p, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

static void every_pattern_is_a_program_that_ends(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("lab-star");
    for (const RhMessagePattern *pattern = rh_message_patterns; pattern->name; pattern++) {
        g_autoptr(RhProgram) p = pattern->build(8, 65536);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE(rh_program_check(p, &error));
        CU_ASSERT_TRUE(kit_time_s(p, platform, (RhEngineOptions){0}) > 0.003);
        CU_ASSERT_PTR_EQUAL(rh_message_pattern_by_name(pattern->name), pattern);
    }
}

/* Do two cases perform the same program on the same network? */
static bool performs_the_same(const RhSuiteCase *a, const RhSuiteCase *b)
{
    g_auto(GStrv) parts_a = g_strsplit(a->what, ",dp1", 2);
    g_auto(GStrv) parts_b = g_strsplit(b->what, ",dp1", 2);
    return strcmp(parts_a[0], parts_b[0]) == 0 && strcmp(a->platform, b->platform) == 0 &&
           g_strcmp0(a->change, b->change) == 0;
}

static void the_quick_suite_performs_nothing_twice(void)
{
    for (const RhSuiteCase *c = rh_suites[0].cases; c->group; c++)
        for (const RhSuiteCase *other = rh_suites[0].cases; other < c; other++)
            CU_ASSERT_FALSE(performs_the_same(c, other));
}

static void the_suites_hold_what_they_promise(void)
{
    int collectives = 0, iterations = 0, layouts = 0;
    for (const RhSuiteCase *c = rh_suites[0].cases; c->group; c++) {
        collectives += strcmp(c->group, "collective") == 0 || strcmp(c->group, "pattern") == 0;
        iterations += strcmp(c->group, "iteration") == 0;
        layouts += strcmp(c->group, "layout") == 0;
    }
    CU_ASSERT_TRUE(collectives >= 12 && iterations >= 16 && layouts >= 12);
    layouts = 0;
    for (const RhSuiteCase *c = rh_suites[1].cases; c->group; c++)
        layouts += strcmp(c->group, "layout") == 0;
    CU_ASSERT_TRUE(layouts >= 24);
}

int main(void)
{
    return rh_test_main(
        "suites",
        (RhTest[]){
            {"figures_are_what_they_are_called", figures_are_what_they_are_called},
            {"a_wrong_pick_costs_its_regret", a_wrong_pick_costs_its_regret},
            {"skipped_cases_count_in_no_figure_and_miss_a_bar",
             skipped_cases_count_in_no_figure_and_miss_a_bar},
            {"bars_are_missed_by_name", bars_are_missed_by_name},
            {"a_simpler_model_ahead_in_a_group_is_named",
             a_simpler_model_ahead_in_a_group_is_named},
            {"the_fit_finds_what_was_put_in", the_fit_finds_what_was_put_in},
            {"pings_that_cannot_tell_are_refused", pings_that_cannot_tell_are_refused},
            {"a_ping_between_nodes_changes_the_nic_alone",
             a_ping_between_nodes_changes_the_nic_alone},
            {"a_fit_ends_in_its_time", a_fit_ends_in_its_time},
            {"wrong_ping_files_are_refused_with_their_line",
             wrong_ping_files_are_refused_with_their_line},
            {"topologies_hold_every_host_and_link", topologies_hold_every_host_and_link},
            {"smpi_gets_every_link_and_route", smpi_gets_every_link_and_route},
            {"stopped_ranks_are_compared", stopped_ranks_are_compared},
            {"networks_that_are_no_lab_are_refused", networks_that_are_no_lab_are_refused},
            {"every_pattern_is_a_program_that_ends", every_pattern_is_a_program_that_ends},
            {"the_quick_suite_performs_nothing_twice", the_quick_suite_performs_nothing_twice},
            {"the_suites_hold_what_they_promise", the_suites_hold_what_they_promise},
            {0}});
}
