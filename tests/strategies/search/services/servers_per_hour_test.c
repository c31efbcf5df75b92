/* Servers over a day: what replicas that come and go take, by hand, and a day that is planned. */
#include <glib/gstdio.h>
#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "strategies/search/services/servers_per_hour.h"
#include "tests/kit/testkit.h"

#define HOUR_S 3600.0

static const RhDayRate parts[] = {{0, 6 * HOUR_S, 1},
                                  {6 * HOUR_S, 7 * HOUR_S, 2},
                                  {7 * HOUR_S, 20 * HOUR_S, 3},
                                  {20 * HOUR_S, 24 * HOUR_S, 1}};

/* One is up all day; the second 14 h and its start; the third 13 h and its start. */
static void replicas_come_for_their_hours(void)
{
    static const int32_t needed[] = {1, 2, 3, 1};
    RhDayReplicas day = rh_day_replicas(parts, needed, 4, 600);
    RH_CHECK_CLOSE(day.replica_s, (24 + 14 + 13) * HOUR_S + 2 * 600, 1e-12);
    CU_ASSERT_EQUAL(day.starts, 2);
    static const int32_t flat[] = {3, 3, 3, 3};
    day = rh_day_replicas(parts, flat, 4, 600);
    RH_CHECK_CLOSE(day.replica_s, 3 * 24 * HOUR_S, 1e-12);
    CU_ASSERT_EQUAL(day.starts, 0);
}

/* Of the second replica the hour between is shorter than its start: it stays. The night goes over midnight. */
static void a_short_gap_is_kept(void)
{
    static const int32_t needed[] = {2, 1, 2, 1};
    RhDayReplicas day = rh_day_replicas(parts, needed, 4, 2 * HOUR_S);
    RH_CHECK_CLOSE(day.replica_s, (24 + 6 + 1 + 13 + 2) * HOUR_S, 1e-12);
    CU_ASSERT_EQUAL(day.starts, 1);
    static const int32_t night[] = {2, 1, 1, 2};
    day = rh_day_replicas(parts, night, 4, HOUR_S);
    RH_CHECK_CLOSE(day.replica_s, (24 + 6 + 4 + 1) * HOUR_S, 1e-12);
    CU_ASSERT_EQUAL(day.starts, 1);
}

static void rates_are_read_and_refused(void)
{
    static const struct {
        const char *text;
        bool fine;
    } files[] = {{"hours,per_s\n0,2\n7.5,10\n22,3\n", true},
                 {"hours,per_s\n1,2\n", false},
                 {"hours,per_s\n0,0\n7,0\n", false},
                 {"hours,per_s\n0,2\n7,-1\n", false},
                 {"hours,per_s\n0,2\n7,3\n6,4\n", false},
                 {"hours,per_s\n0,2\n24,3\n", false},
                 {"hour,per_s\n0,2\n", false},
                 {"hours,per_s\n", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), "rh-serve-day.csv", NULL);
        g_autoptr(GArray) rates = g_array_new(FALSE, FALSE, sizeof(RhDayRate));
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, files[i].text, -1, NULL));
        CU_ASSERT_EQUAL(rh_day_rates_load(path, rates, &error), files[i].fine);
        CU_ASSERT_TRUE(files[i].fine || g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        (void)g_remove(path);
        if (!files[i].fine)
            continue;
        CU_ASSERT_EQUAL(rates->len, 3);
        CU_ASSERT_EQUAL(RH_AT(rates, RhDayRate, 1)->to_s, 22 * HOUR_S);
        CU_ASSERT_EQUAL(RH_AT(rates, RhDayRate, 2)->to_s, RH_DAY_S);
    }
}

/* A request every `gap_s` for so many hours, four times as many from hour 8 to hour 20. */
static char *trace_of(double hours, double gap_s)
{
    GString *text = g_string_new("arrival_s,input_tokens,output_tokens\n");
    for (double t_s = 0; t_s < hours * HOUR_S;) {
        bool busy = fmod(t_s / HOUR_S, 24) >= 8 && fmod(t_s / HOUR_S, 24) < 20;
        g_string_append_printf(text, "%.3f,100,10\n", t_s);
        t_s += busy ? gap_s / 4 : gap_s;
    }
    return g_string_free(text, FALSE);
}

/* The hours of a trace: of one day, and the means of two and a half. */
static void a_trace_has_the_rates_of_its_hours(void)
{
    static const double lengths_h[] = {24, 60, 23};
    for (size_t k = 0; k < G_N_ELEMENTS(lengths_h); k++) {
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), "rh-serve-day.csv", NULL);
        g_autofree char *text = trace_of(lengths_h[k], 36);
        g_autoptr(GArray) rates = g_array_new(FALSE, FALSE, sizeof(RhDayRate));
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
        bool fine = rh_day_rates_load(path, rates, &error);
        CU_ASSERT_EQUAL(fine, lengths_h[k] >= 24);
        CU_ASSERT_TRUE(fine || g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_EQUAL(rates->len, fine ? 24 : 0);
        for (guint h = 0; h < rates->len; h++) {
            const RhDayRate *part = RH_AT(rates, RhDayRate, h);
            CU_ASSERT_EQUAL(part->from_s, h * HOUR_S);
            RH_CHECK_CLOSE(part->per_s, (h >= 8 && h < 20 ? 4 : 1) / 36.0, 1e-9);
        }
        g_unlink(path);
    }
}

int main(void)
{
    return rh_test_main(
        "serve_day",
        (RhTest[]){{"replicas_come_for_their_hours", replicas_come_for_their_hours},
                   {"a_short_gap_is_kept", a_short_gap_is_kept},
                   {"rates_are_read_and_refused", rates_are_read_and_refused},
                   {"a_trace_has_the_rates_of_its_hours", a_trace_has_the_rates_of_its_hours},
                   {NULL, NULL}});
}
