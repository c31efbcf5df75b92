/* rehearse-perform: performs programs for real, one MPI rank per rank of the program. mpirun -n 8
 * rehearse-perform -p lab-star -o results a.program.json b.program.json. Every rank reads the same
 * files. Rank 0 writes results/NAME.json (times, checks) and results/NAME.run.json.gz (the
 * timeline, as the rehearsal writes its own). */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/error.h"
#include "base/json/json.h"
#include "sim/timeline/timeline_file.h"
#include "validate/perform/clock_sync.h"
#include "validate/perform/pingpong_measure.h"
#include "validate/perform/rank_results.h"
#include "validate/perform/step_results.h"

#define LEAD_S       0.02 /* from the agreement on a start to the start */
#define TRIES        3    /* steps performed per step that counts, at most */
#define PING_TRIES   2    /* the same for a ping-pong */
#define LAST_WORDS_S 1.0  /* time for other ranks to time out too, before all are aborted */

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_INPUT = 3 };

typedef struct {
    char *platform, *folder, *pingpong, *slow, *event, *compute, *wake;
    char **programs;
    int runs;
    double timeout_s, scale;
    gboolean library;
    bool sockets;
} Arguments;

typedef struct {
    MPI_Comm comm;
    int rank, ranks;
    double offset_s; /* of this rank's clock */
    const Arguments *arguments;
    RhPlatform *platform;
} Stage;

/* --- one program --- */

/* Returns a common start time on each rank's own clock. */
static double agree_on_start(const Stage *stage)
{
    double t_start_s = rh_clock_now_s() + LEAD_S;
    MPI_Barrier(stage->comm);
    t_start_s = rh_record_max(stage->comm, t_start_s - stage->offset_s);
    return t_start_s + stage->offset_s;
}

/* Path of a result: FOLDER/NAME.program.json -> OUT/NAME + ending. */
static char *output_path(const Stage *stage, const char *program, const char *ending)
{
    g_autofree char *name = g_path_get_basename(program);
    char *end = strstr(name, ".program.json");
    if (end)
        *end = '\0';
    g_autofree char *file = g_strconcat(name, ending, NULL);
    return g_build_filename(stage->arguments->folder, file, NULL);
}

/* Ends a rank whose step did not end. The network may have failed, so each rank reports for itself,
 * on its error stream and in OUT/NAME.stuck.RANK, without waiting for others. */
static void give_up(const Stage *stage, const char *program, const char *why) G_GNUC_NORETURN;
static void give_up(const Stage *stage, const char *program, const char *why)
{
    g_autofree char *ending = g_strdup_printf(".stuck.%d", stage->rank);
    g_autofree char *line = g_strconcat(why, "\n", NULL);
    fprintf(stderr, "stuck: %s", line);
    if (stage->arguments->folder) {
        g_autofree char *path = output_path(stage, program, ending);
        rh_ignore_failure(
            rh_file_write(path, line, strlen(line), NULL)); /* it is said above, too */
    }
    rh_clock_nap(LAST_WORDS_S / 2);
    rh_clock_nap(LAST_WORDS_S / 2);
    MPI_Abort(stage->comm, EXIT_WRONG);
    abort(); /* not reached */
}

/* Performs one step; the first is a warm-up, with every word checked. */
static void run_once(const Stage *stage, RhRankPerformer *performer, const char *program,
                     RhResults *all, bool warm_up)
{
    double stolen_s = rh_clock_stolen_s();
    RhPerformed done = rh_rank_performer_step(performer, agree_on_start(stage), warm_up);
    if (done.stuck)
        give_up(stage, program, done.stuck);
    double step_s = rh_record_max(stage->comm, done.t_end_s);
    stolen_s = rh_record_max(stage->comm, rh_clock_stolen_s() - stolen_s);
    RhPayloadCheck check = rh_record_check(stage->comm, done.check);
    all->check.checked_count += check.checked_count;
    all->check.wrong_count += check.wrong_count;
    if (!warm_up)
        all->steps[all->count++] =
            (RhPerformedStep){step_s, stolen_s / (step_s + LEAD_S), g_steal_pointer(&done.spans)};
    rh_performed_clear(&done);
}

/* Performs steps until the requested number were undisturbed, or three times as many, and keeps the
 * least disturbed. */
static void run_all(const Stage *stage, RhRankPerformer *performer, const char *program,
                    RhResults *all)
{
    int wanted = stage->arguments->runs, calm = 0;
    run_once(stage, performer, program, all, true);
    while (calm < wanted && all->count < MIN(TRIES * wanted, RH_STEPS_MAX)) {
        run_once(stage, performer, program, all, false);
        calm += all->steps[all->count - 1].stolen_frac <= RH_CALM_FRAC;
    }
    rh_results_keep(all, wanted);
}

static bool write_results(const Stage *stage, const RhProgram *p, const char *path,
                          const RhResults *all, GError **error)
{
    g_autoptr(RhRun) run = NULL;
    if (all->count > 0) {
        const RhPerformedStep *middle = &all->steps[rh_results_median(all)];
        run = rh_record_run(stage->comm, p, middle->spans, middle->step_s);
    }
    if (stage->rank != 0)
        return true;
    g_autofree char *text = rh_results_text(all, path, stage->platform->name, stage->ranks);
    if (!stage->arguments->folder)
        return fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    g_autofree char *json = output_path(stage, path, ".json");
    g_autofree char *trace = output_path(stage, path, ".run.json.gz");
    return rh_file_write(json, text, strlen(text), error) &&
           (!run || rh_timeline_write(p, run, trace, error));
}

static bool parse_slow(const char *text, RhPerformOptions *options, GError **error)
{
    char *end = NULL;
    options->slow_rank = -1;
    options->slow_rank_scale = 1;
    if (!text)
        return true;
    options->slow_rank = (int32_t)g_ascii_strtoll(text, &end, 10);
    if (end != text && *end == ':')
        options->slow_rank_scale = g_ascii_strtod(end + 1, &end);
    if (*end != '\0' || !(options->slow_rank_scale > 0))
        return rh_fail(error, RH_ERROR_USAGE, "--slow %s: RANK:FACTOR is wanted, as in 3:2.5",
                       text);
    return true;
}

/* Reads an event on rank 0: "0.3:COMMAND". */
static bool parse_event(const Stage *stage, RhPerformOptions *options, GError **error)
{
    const char *text = stage->arguments->event;
    char *end = NULL;
    if (!text)
        return true;
    options->event_s = g_ascii_strtod(text, &end);
    if (end == text || *end != ':' || !(options->event_s >= 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "--event %s: SECONDS:COMMAND is wanted, as in '0.3:ip link set eth0 down'",
                       text);
    options->event = stage->rank == 0 ? end + 1 : NULL;
    return true;
}

/* Performs a program; returns 0 or the exit code, and *error where this rank knows the reason. */
static int perform_program(const Stage *stage, const char *path, GError **error)
{
    const Arguments *a = stage->arguments;
    RhPerformOptions options = {.kernel_scale = a->scale,
                                .timeout_s = a->timeout_s,
                                .worker = a->compute ? rh_worker_by_name(a->compute) : NULL,
                                .library = a->library,
                                .sockets = a->sockets};
    if (!parse_slow(a->slow, &options, error) || !parse_event(stage, &options, error))
        return EXIT_USAGE;
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    g_autoptr(RhProgram) p = doc ? rh_program_from_json(doc, error) : NULL;
    if (!p)
        return EXIT_INPUT;
    if (p->ranks_count != stage->ranks) {
        rh_fail(error, RH_ERROR_INPUT, "%s has %d ranks, mpirun started %d", path, p->ranks_count,
                stage->ranks);
        return EXIT_INPUT;
    }
    RhRankPerformer *performer =
        rh_rank_performer_new(p, stage->platform, stage->comm, &options, error);
    if (rh_record_max(stage->comm, performer ? 0 : 1) > 0) { /* one rank that cannot stops all */
        rh_rank_performer_free(performer);
        return EXIT_INPUT;
    }
    RhResults all = {0};
    run_all(stage, performer, path, &all);
    bool written = write_results(stage, p, path, &all, error);
    int code = !written ? EXIT_INPUT : all.check.wrong_count > 0 ? EXIT_WRONG : 0;
    rh_results_clear(&all);
    rh_rank_performer_free(performer);
    return code;
}

/* --- whole run --- */

static bool settle_arguments(Arguments *a, GError **error)
{
    a->runs = CLAMP(a->runs, 1, RH_STEPS_MAX);
    if (a->compute && !g_str_equal(a->compute, "timed") && !rh_worker_by_name(a->compute))
        return rh_fail(error, RH_ERROR_USAGE, "--compute %s: timed, blas or cuda is wanted",
                       a->compute);
    const char *wake = a->wake ? a->wake : g_getenv("REHEARSE_WAKE");
    a->sockets = g_strcmp0(wake, "sockets") == 0;
    if (wake && !a->sockets && !g_str_equal(wake, "poll"))
        return rh_fail(error, RH_ERROR_USAGE, "--wake %s: poll or sockets is wanted", wake);
    if (!a->platform || (!a->pingpong && !a->programs))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "a platform (-p) and programs, or --pingpong, are needed\nhelp: rehearse simulate ... -o "
            "NAME.program.json writes one");
    return true;
}

static bool parse_arguments(int *argc, char ***argv, Arguments *a, GError **error)
{
    *a = (Arguments){.runs = 3, .timeout_s = 60, .scale = 1};
    const GOptionEntry entries[] = {
        {"platform", 'p', 0, G_OPTION_ARG_STRING, &a->platform,
         "where the ranks sit and what kernels take", "PLATFORM"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &a->folder,
         "write NAME.json and NAME.run.json.gz there", "FOLDER"},
        {"runs", 'n', 0, G_OPTION_ARG_INT, &a->runs, "measured steps, after one warm-up (3)", "N"},
        {"timeout", 't', 0, G_OPTION_ARG_DOUBLE, &a->timeout_s,
         "give a step up after so long, and say who waits for what (60)", "SECONDS"},
        {"slow", 0, 0, G_OPTION_ARG_STRING, &a->slow, "a straggler: its kernels take longer",
         "RANK:FACTOR"},
        {"event", 0, 0, G_OPTION_ARG_STRING, &a->event,
         "so long into each measured step rank 0 runs a shell command: a fault", "SECONDS:COMMAND"},
        {"scale", 0, 0, G_OPTION_ARG_DOUBLE, &a->scale, "all kernels take longer", "FACTOR"},
        {"compute", 0, 0, G_OPTION_ARG_STRING, &a->compute,
         "kernels are waits of their simulated time (timed, the default), real work of the "
         "processor with OpenBLAS (blas), or the kernels themselves on a GPU of each rank (cuda)",
         "HOW"},
        {"library", 0, 0, G_OPTION_ARG_NONE, &a->library,
         "MPI's own collectives in place of the program's schedules", NULL},
        {"wake", 0, 0, G_OPTION_ARG_STRING, &a->wake,
         "a rank at rest looks for messages every 50 us (poll, the default), or wakes when a socket "
         "moves (sockets: where MPI sends by TCP alone; REHEARSE_WAKE=sockets says the same)",
         "HOW"},
        {"pingpong", 0, 0, G_OPTION_ARG_FILENAME, &a->pingpong,
         "measure messages between pairs of ranks instead", "FILE.csv"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &a->programs, NULL,
         "PROGRAM.json..."},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL}};
    g_autoptr(GOptionContext) context =
        g_option_context_new("- performs programs over MPI, one rank per rank of the program");
    g_option_context_add_main_entries(context, entries, NULL);
    return g_option_context_parse(context, argc, argv, error) && settle_arguments(a, error);
}

/* Performs the ping-pong `runs` times, without counting the first time and disturbed times; rank 0
 * writes. */
static bool ping_all(const Stage *stage, const RhProgram *p, FILE *out, GError **error)
{
    RhPerformOptions options = {.kernel_scale = 1,
                                .slow_rank = -1,
                                .timeout_s = stage->arguments->timeout_s,
                                .sockets = stage->arguments->sockets};
    RhRankPerformer *performer =
        rh_rank_performer_new(p, stage->platform, stage->comm, &options, error);
    bool written = performer && (!out || fputs(RH_PINGPONG_HEADER "\n", out) >= 0);
    int wanted = stage->arguments->runs + 1, left = PING_TRIES * wanted;
    for (bool warm_up = true; performer && wanted > 0; left--) {
        double stolen_s = rh_clock_stolen_s();
        RhPerformed done = rh_rank_performer_step(performer, agree_on_start(stage), false);
        double step_s = rh_record_max(stage->comm, done.t_end_s);
        stolen_s = rh_record_max(stage->comm, rh_clock_stolen_s() - stolen_s);
        g_autoptr(RhRun) run = rh_record_run(stage->comm, p, done.spans, done.t_end_s);
        bool counts = warm_up || left <= wanted || stolen_s <= RH_CALM_FRAC * step_s;
        if (done.stuck)
            written = rh_fail(error, RH_ERROR_NO_ANSWER, "%s", done.stuck);
        if (run && counts && !warm_up)
            written = written && rh_pingpong_rows(p, run->timeline, out);
        rh_performed_clear(&done);
        wanted -= counts;
        warm_up = false;
    }
    rh_rank_performer_free(performer);
    return written;
}

static int ping(const Stage *stage, GError **error)
{
    const Arguments *a = stage->arguments;
    if (stage->ranks % 2 != 0) {
        rh_fail(error, RH_ERROR_USAGE, "--pingpong needs an even number of ranks, not %d",
                stage->ranks);
        return EXIT_USAGE;
    }
    FILE *out = stage->rank == 0 ? fopen(a->pingpong, "w") : NULL;
    int usable = stage->rank != 0 || out != NULL;
    MPI_Bcast(&usable, 1, MPI_INT, 0, stage->comm);
    g_autoptr(RhProgram) p = rh_pingpong_program(stage->ranks);
    bool written = usable && ping_all(stage, p, out, error);
    if (out)
        written = fclose(out) == 0 && written;
    if (!written && stage->rank == 0 && (!error || !*error))
        rh_fail(error, RH_ERROR_IO, "cannot write %s", a->pingpong);
    return written ? 0 : EXIT_INPUT;
}

static int run_programs(const Stage *stage, GError **error)
{
    if (stage->arguments->pingpong)
        return ping(stage, error);
    int code = 0;
    for (char **path = stage->arguments->programs; *path && code == 0; path++)
        code = perform_program(stage, *path, error);
    return code;
}

/* First rank with `own` true; the number of ranks when there is none. */
static int first_with(const Stage *stage, bool own)
{
    int mine = own ? stage->rank : stage->ranks, first = mine;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, stage->comm);
    return first;
}

/* Creates the folder of the results, before any work. */
static bool make_folder(const Stage *stage, GError **error)
{
    const char *folder = stage->arguments->folder;
    if (!folder || stage->rank != 0 || g_mkdir_with_parents(folder, 0777) == 0)
        return true;
    return rh_fail(error, RH_ERROR_IO, "cannot make the folder %s: %s", folder, g_strerror(errno));
}

int main(int argc, char **argv)
{
    Arguments arguments;
    Stage stage = {.comm = MPI_COMM_WORLD, .arguments = &arguments};
    g_autoptr(GError) error = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(stage.comm, &stage.rank);
    MPI_Comm_size(stage.comm, &stage.ranks);
    signal(SIGPIPE, SIG_IGN);       /* a lost worker is an error, and must not end the process */
    prctl(PR_SET_TIMERSLACK, 1000); /* sleeps end on time, not 50 us later */
    int code = EXIT_USAGE;
    if (parse_arguments(&argc, &argv, &arguments, &error)) {
        code = EXIT_INPUT;
        if (arguments.platform)
            stage.platform = rh_platform_load(arguments.platform, &error);
        stage.offset_s = rh_clock_offset_s(stage.comm);
        bool ready = make_folder(&stage, &error);
        if (first_with(&stage, !ready) == stage.ranks && (!arguments.platform || stage.platform))
            code = run_programs(&stage, &error);
    }
    if (first_with(&stage, error != NULL) == stage.rank)
        fprintf(stderr, "error: %s\n", error->message);
    int worst = (int)rh_record_max(stage.comm, code);
    rh_platform_free(stage.platform);
    if (worst == EXIT_WRONG) /* perhaps with messages under way: no orderly end */
        MPI_Abort(stage.comm, worst);
    MPI_Finalize();
    return worst;
}
