/* rehearse calibrate: what are this machine's real numbers? */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/pingpong.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "validate/lab_run.h"

/* Ping-pong over MPI in the lab, into a file of our own. */
static char *measure(const RhArguments *a, const RhPlatform *platform, GError **error)
{
    g_autofree char *path = NULL;
    g_autofree char *output = NULL;
    g_autofree char *how = NULL;
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *lab = g_build_filename(data ? data : RH_DATA_DIR, "validate", "lab", NULL);
    g_autofree char *obstacle = rh_lab_obstacle(lab, &how);
    if (strcmp(a->measure, "pingpong") != 0) {
        rh_fail(error, RH_ERROR_USAGE, "--run %s: pingpong is what this version measures",
                a->measure);
        return NULL;
    }
    if (obstacle) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "the lab cannot be built here: %s", obstacle);
        return NULL;
    }
    int file = g_file_open_tmp("rehearse-pingpong-XXXXXX", &path, error);
    if (file < 0)
        return NULL;
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = g_path_get_dirname(self ? self : "./rehearse");
    g_autofree char *perform = g_build_filename(folder, "rehearse-perform", NULL);
    g_autofree char *ping = g_strdup_printf("--pingpong=%s", path);
    g_autofree char *on = g_strdup_printf("--platform=%s", platform->name);
    const char *argv[] = {perform, on, ping, "--runs=3", NULL};
    rh_terminal_progress("ping-pong", 0, 1, 0, NULL);
    bool ran = rh_lab_run(lab, platform, 120, argv, &output, error);
    rh_terminal_progress_end();
    return ran ? g_steal_pointer(&path) : NULL;
}

static void print_fit(const RhPingFit *fit, const char *saved)
{
    printf("a message takes %.0f us (+-%.0f; %.0f of it noise) and %.2f ns a byte (+-%.2f) besides "
           "its links\n",
           1e6 * fit->latency_s, 1e6 * fit->latency_error_s, 1e6 * fit->noise_s,
           1e9 * fit->copy_s_per_byte, 1e9 * fit->copy_error_s_per_byte);
    printf("a host takes %.0f us to see that a kernel has ended\n", 1e6 * fit->reaction_s);
    printf("%d rows; mean error of the fit %.1f %%, worst %.1f %% at %.0f B\n", fit->rows_count,
           100 * fit->mape_frac, 100 * fit->worst_frac, fit->worst_bytes);
    if (saved)
        printf("next: rehearse simulate ... --profile %s\n", saved);
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    if (!a->from == !a->measure) {
        rh_fail(error, RH_ERROR_USAGE, "calibrate needs either --from FILE.csv or --run pingpong");
        return 2;
    }
    g_autoptr(RhPlatform) platform = rh_platform_load(a->platform, error);
    if (!platform)
        return 3;
    g_autofree char *path = a->from ? g_strdup(a->from) : measure(a, platform, error);
    g_autoptr(GArray) pings = path ? rh_pings_load(path, error) : NULL;
    RhPingFit fit;
    bool fitted = pings && rh_pings_fit(pings, platform, &fit, error);
    if (a->measure && path)
        remove(path);
    if (!fitted)
        return 3;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%Y-%m");
    g_autofree char *text = rh_pings_profile(&fit, platform, a->from ? a->from : "--run", date);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), text, error))
            return 3;
    if (a->json)
        fputs(text, stdout);
    else
        print_fit(&fit, rh_outputs_find(a->outputs, RH_OUTPUT_JSON));
    return 0;
}

static const RhOption own[] = {RH_OPTION(platform, "platform", 'p', RH_OPTION_TEXT, "FILE|NAME",
                                         "where the measurements were or will be made",
                                         .required = true),
                               RH_OPTION(from, "from", 0, RH_OPTION_TEXT, "FILE.csv",
                                         "fit rows kind,source,destination,bytes,seconds"),
                               RH_OPTION(measure, "run", 0, RH_OPTION_TEXT, "pingpong",
                                         "measure first: messages over MPI in the network lab"),
                               {0}};
static const RhOption *const tables[] = {own, rh_options_shared, NULL};

const RhCommand rh_command_calibrate = {
    .name = "calibrate",
    .operands = "",
    .summary = "what are this machine's real numbers?",
    .about = "Fits what a message costs besides its links, and writes it as a profile (-o) for\n"
             "`--profile`. --run pingpong measures it in the network lab, on the platform's\n"
             "own network. On a real cluster, measure with\n"
             "    mpirun -n 2 rehearse-perform -p PLATFORM --pingpong FILE.csv\n"
             "one rank on each of two nodes, and give the file to --from.\n",
    .examples = "rehearse calibrate -p lab-star --run pingpong -o lab.json\n"
                "rehearse calibrate -p lab-star --from pingpong.csv -o lab.json",
    .tables = tables,
    .run = run,
};
