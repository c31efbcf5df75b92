/* Ranks that one coordinator keeps busy, with items whose costs spread 1:100. Efficiency is the share of the ranks' time
 * that they spend in items, from the first that is asked for to the last that has ended.
 *
 *     build/bench/coordinator_bench [build/rehearse-mpi]
 *
 * Up to 1,000 ranks are simulated on our own engine: requests and replies are messages over the platform's links, items
 * and what the coordinator does for each are computations, the latter as long as was measured here. Where rehearse-mpi
 * is named, 16 ranks of MPI are measured with items that sleep, as 16 ranks with a processor each would compute. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "bench/bench_job.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/import/imported_trace.h"
#include "sweep/coordinator.h"
#include "sweep/item_client.h"

#define SPREAD         100.0
#define ITEMS_OF_RANK  20
#define MESSAGE_BYTES  ((int)sizeof(RhCoordinatorMessage))
#define ASKED_MEASURED 20000
#define SLEEPERS       16
#define SLEEP_LEAST_S  0.02
#define SLEEP_ITEMS    240
#define DIGEST         41

/* Cost of an item: evenly spread logarithms, the dearest first or in no order. */
static double cost_s(int32_t item, int32_t items, double least_s, bool sorted)
{
    int32_t at = sorted ? items - 1 - item : (int32_t)((int64_t)item * 7919 % items);
    return least_s * pow(SPREAD, (at + 0.5) / items);
}

/* --- what the coordinator does for an item, measured --- */

typedef struct {
    int32_t next, items;
    double busy_s;
    gint64 t_first_us;
} Given;

static RhNextItemStatus next(int32_t *item, void *user)
{
    Given *given = user;
    if (given->next == 0)
        given->t_first_us = g_get_monotonic_time();
    *item = given->next;
    return given->next++ < given->items ? RH_NEXT_ITEM : RH_NEXT_NONE;
}

static bool ended(int32_t item, const RhItemOutcome *end, void *user)
{
    (void)item;
    ((Given *)user)->busy_s += end->seconds;
    return true;
}

static void wait_on(void *user)
{
    (void)user;
}

static bool is_stopped(void *user)
{
    (void)user;
    return false;
}

/* Runs the coordinator of ranks behind a socket. */
static void coordinate(int socket, int32_t ranks, Given *given)
{
    RhItemPool pool = {
        .next = next, .ended = ended, .waiting = wait_on, .stopped = is_stopped, .user = given};
    RhCoordinator coordinator = {.socket = socket, .ranks = ranks, .digest = DIGEST};
    GError *error = NULL;
    bool fine = rh_coordinator_run(&coordinator, &pool, &error);
    g_assert_no_error(error);
    g_assert(fine);
}

/* Plays a rank that needs no time for an item. */
static void ask_at_once(int socket)
{
    RhItemClient client = {.socket = socket, .digest = DIGEST, .items = ASKED_MEASURED};
    int32_t item;
    RhCoordinatorMessage gone = {.kind = RH_MESSAGE_GONE, .rank = 1};
    for (;;) {
        RhCoordinatorMessage m = {.kind = RH_MESSAGE_ASK, .rank = 1, .digest = DIGEST};
        rh_coordinator_message_write(socket, &m);
        client.asking = true;
        if (rh_item_client_next(&client, &item) != RH_NEXT_ITEM)
            break;
        m = (RhCoordinatorMessage){.kind = RH_MESSAGE_ENDED, .rank = 1, .item = item};
        rh_coordinator_message_write(socket, &m);
    }
    rh_coordinator_message_write(socket, &gone);
    _exit(0);
}

/* Seconds of processors for one item's messages, at the coordinator and as much again for its relay. */
static double service_s(void)
{
    int ends[2];
    Given given = {.items = ASKED_MEASURED};
    g_assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t pid = fork();
    if (pid == 0)
        ask_at_once(ends[1]);
    double t_begin_s = bench_cpu_s();
    coordinate(ends[0], 2, &given);
    double each_s = (bench_cpu_s() - t_begin_s) / ASKED_MEASURED;
    waitpid(pid, NULL, 0);
    return 2 * each_s;
}

/* --- many ranks, simulated --- */

/* A question to the coordinator: when it arrives, and whose it is. */
typedef struct {
    double t_s;
    int32_t rank;
} Question;

static gint by_time(gconstpointer a, gconstpointer b, gpointer user)
{
    const Question *x = a, *y = b;
    (void)user;
    return x->t_s != y->t_s ? (x->t_s < y->t_s ? -1 : 1) : x->rank - y->rank;
}

typedef struct {
    int32_t ranks, items;
    double least_s, service_s, latency_s;
    bool sorted;
} Case;

/* Appends an operation of a rank that waits for the one before. */
static void add_op(GString *out, int32_t *number, const char *words)
{
    g_string_append_printf(out, "l%d: %s\n", *number, words);
    if (*number > 0)
        g_string_append_printf(out, "l%d requires l%d\n", *number, *number - 1);
    (*number)++;
}

static void add_question(GString *rank, int32_t *number)
{
    g_autofree char *words = g_strdup_printf("send %db to 0 tag 1", MESSAGE_BYTES);
    add_op(rank, number, words);
}

/* The job as GOAL: who gets which item is decided first, by the same times without the links' shares. */
static char *goal_of(const Case *c)
{
    GString **ranks = g_new(GString *, c->ranks + 1);
    g_autofree int32_t *numbers = g_new0(int32_t, c->ranks + 1);
    g_autoptr(GSequence) questions = g_sequence_new(g_free);
    for (int32_t r = 0; r <= c->ranks; r++) {
        ranks[r] = g_string_new(NULL);
        if (r == 0)
            continue;
        add_question(ranks[r], &numbers[r]);
        Question q = {c->latency_s, r};
        g_sequence_insert_sorted(questions, g_memdup2(&q, sizeof q), by_time, NULL);
    }
    double t_free_s = 0;
    for (int32_t item = 0; !g_sequence_is_empty(questions); item++) {
        GSequenceIter *first = g_sequence_get_begin_iter(questions);
        Question q = *(const Question *)g_sequence_get(first);
        double seconds = item < c->items ? cost_s(item, c->items, c->least_s, c->sorted) : 0;
        g_sequence_remove(first);
        t_free_s = fmax(t_free_s, q.t_s) + c->service_s;
        g_autofree char *hear = g_strdup_printf("recv %db from %d tag 1", MESSAGE_BYTES, q.rank),
                        *serve = g_strdup_printf("calc %.0f", 1e9 * c->service_s),
                        *tell = g_strdup_printf("send %db to %d tag 2", MESSAGE_BYTES, q.rank),
                        *told = g_strdup_printf("recv %db from 0 tag 2", MESSAGE_BYTES),
                        *work = g_strdup_printf("calc %.0f", 1e9 * seconds);
        add_op(ranks[0], &numbers[0], hear);
        add_op(ranks[0], &numbers[0], serve);
        add_op(ranks[0], &numbers[0], tell);
        add_op(ranks[q.rank], &numbers[q.rank], told);
        if (item >= c->items) /* there is no more */
            continue;
        add_op(ranks[q.rank], &numbers[q.rank], work);
        add_question(ranks[q.rank], &numbers[q.rank]);
        Question again = {t_free_s + 2 * c->latency_s + seconds, q.rank};
        g_sequence_insert_sorted(questions, g_memdup2(&again, sizeof again), by_time, NULL);
    }
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "num_ranks %d\n", c->ranks + 1);
    for (int32_t r = 0; r <= c->ranks; r++) {
        g_string_append_printf(out, "rank %d {\n%s}\n", r, ranks[r]->str);
        g_string_free(ranks[r], TRUE);
    }
    g_free(ranks);
    return g_string_free(out, FALSE);
}

/* Seconds that the job takes on the engine. */
static double simulated_s(const Case *c)
{
    GError *error = NULL;
    g_autofree char *text = goal_of(c), *path = NULL,
                    *cluster = g_strdup_printf("h100-sxm:1x%d,ib:100Gb/s", c->ranks + 1);
    int file = g_file_open_tmp("ranks-XXXXXX.goal", &path, &error);
    g_assert_no_error(error);
    close(file);
    bool fine = g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
    g_autoptr(RhPlatform) platform = fine ? rh_platform_load(cluster, &error) : NULL;
    g_assert_no_error(error);
    g_autoptr(RhImportedTrace) trace = rh_imported_trace_load(path, 0, &error);
    g_assert_no_error(error);
    g_autoptr(RhProgram) program = rh_imported_trace_program(trace, platform, &error);
    g_assert_no_error(error);
    g_autoptr(RhRun) run = rh_rehearse_isolated(program, platform, &(RhEngineOptions){0}, &error);
    g_assert_no_error(error);
    unlink(path);
    return run->step_time_s;
}

static double efficiency_of(const Case *c)
{
    double busy_s = 0;
    for (int32_t i = 0; i < c->items; i++)
        busy_s += cost_s(i, c->items, c->least_s, c->sorted);
    return busy_s / (c->ranks * simulated_s(c));
}

static void simulate(double service)
{
    static const int32_t ranks[] = {16, 100, 400, 1000};
    static const double means_s[] = {1, 0.1, 0.03, 0.01};
    printf(
        "efficiency by ranks and mean seconds of an item (1:100, %d items a rank), dearest first / in no order;\n"
        "%.1f us of the coordinator for each:\n    ranks",
        ITEMS_OF_RANK, 1e6 * service);
    for (size_t k = 0; k < G_N_ELEMENTS(means_s); k++)
        printf("  %10g s", means_s[k]);
    printf("   saturated below\n");
    for (size_t i = 0; i < G_N_ELEMENTS(ranks); i++) {
        printf("  %7d", ranks[i]);
        for (size_t k = 0; k < G_N_ELEMENTS(means_s); k++) {
            Case c = {.ranks = ranks[i],
                      .items = ranks[i] * ITEMS_OF_RANK,
                      .least_s = means_s[k] * log(SPREAD) / (SPREAD - 1),
                      .service_s = service,
                      .latency_s = 3e-6,
                      .sorted = true};
            double dearest = efficiency_of(&c);
            c.sorted = false;
            printf("  %.3f/%.3f", dearest, efficiency_of(&c));
            fflush(stdout);
        }
        printf("   %.4f s\n", ranks[i] * service);
    }
}

/* --- sixteen ranks of MPI --- */

static int32_t sleep_on(int32_t item, void *user)
{
    (void)user;
    g_usleep((gulong)(1e6 * cost_s(item, SLEEP_ITEMS, SLEEP_LEAST_S, true)));
    return 0;
}

static RhNextItemStatus next_asked(int32_t *item, void *user)
{
    return rh_item_client_next(user, item);
}

static bool tell_end(int32_t item, const RhItemOutcome *end, void *user)
{
    return rh_item_client_tell(user, item, end);
}

/* This program as a rank: the first coordinates, the others sleep. */
static int be_rank(int socket)
{
    RhCoordinatorMessage role;
    if (!rh_coordinator_message_read(socket, &role))
        return 1;
    if (role.rank == 0) {
        Given given = {.items = SLEEP_ITEMS};
        coordinate(socket, role.item, &given);
        double took_s = 1e-6 * (double)(g_get_monotonic_time() - given.t_first_us);
        printf("  %d items of %.2f to %.1f s, dearest first: efficiency %.3f (bar 0.9), %.2f s\n",
               SLEEP_ITEMS, SLEEP_LEAST_S, SLEEP_LEAST_S * SPREAD,
               given.busy_s / ((role.item - 1) * took_s), took_s);
        return 0;
    }
    RhItemClient client = {.socket = socket, .digest = DIGEST, .items = SLEEP_ITEMS};
    RhItemPool pool = {.jobs = 1,
                       .perform = sleep_on,
                       .next = next_asked,
                       .more_fd = socket,
                       .ended = tell_end,
                       .waiting = wait_on,
                       .stopped = is_stopped,
                       .user = &client};
    return rh_item_pool_run(&pool, NULL) ? 0 : 1;
}

static void measure_mpi(const char *relay)
{
    g_autofree char *own = g_file_read_link("/proc/self/exe", NULL),
                    *ranks = g_strdup_printf("%d", SLEEPERS + 1);
    char *words[] = {(char *)"mpirun", (char *)"--oversubscribe", (char *)"-n", ranks,
                     (char *)relay,    (char *)"sleep",           NULL};
    GError *error = NULL;
    g_setenv("REHEARSE_PROGRAM", own, TRUE);
    printf("%d ranks of MPI on %u processors:\n", SLEEPERS, g_get_num_processors());
    fflush(stdout);
    double t_begin_s = bench_used_s(RUSAGE_CHILDREN);
    g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    printf("  the whole job took %.2f s of processors\n",
           bench_used_s(RUSAGE_CHILDREN) - t_begin_s);
}

int main(int argc, char **argv)
{
    const char *socket = g_getenv(RH_COORDINATOR_SOCKET);
    if (socket)
        return be_rank(atoi(socket));
    simulate(service_s());
    if (argc > 1)
        measure_mpi(argv[1]);
    return 0;
}
