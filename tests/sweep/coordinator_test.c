/* Items handed to ranks over a socket: each is done once, and a rank that is lost costs its item alone. */
#include "sweep/coordinator.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sweep/journal.h"
#include "tests/kit/testkit.h"

#define ITEMS  40
#define RANKS  6
#define DIGEST 77

typedef struct {
    int32_t next, ends[ITEMS], status[ITEMS];
} Finished;

/* Behaviour of the ranks, all of which one process plays. */
typedef struct {
    int32_t fatal;   /* the item of which ranks die; -1: none */
    int32_t deaths;  /* how many do */
    uint64_t digest; /* of the study that they read */
} Play;

static RhNextItemStatus next(int32_t *item, void *user)
{
    Finished *finished = user;
    *item = finished->next;
    return finished->next++ < ITEMS ? RH_NEXT_ITEM : RH_NEXT_NONE;
}

static bool ended(int32_t item, const RhItemOutcome *end, void *user)
{
    Finished *finished = user;
    finished->ends[item]++;
    finished->status[item] = end->status;
    return true;
}

static void wait_on(void *user)
{
    (void)user;
}

static bool stopped(void *user)
{
    (void)user;
    return false;
}

static void say(int socket, RhCoordinatorMessageKind kind, int32_t rank, int32_t item,
                uint64_t digest)
{
    RhCoordinatorMessage m = {
        .kind = kind, .rank = rank, .item = item, .seconds = 1, .digest = digest};
    if (!rh_coordinator_message_write(socket, &m))
        _exit(1);
}

static void play(int socket, Play play)
{
    RhCoordinatorMessage m;
    for (int32_t rank = 1; rank < RANKS; rank++)
        say(socket, RH_MESSAGE_ASK, rank, -1, play.digest);
    while (rh_coordinator_message_read(socket, &m)) {
        if (m.kind == RH_MESSAGE_END || (m.item == play.fatal && play.deaths-- > 0)) {
            say(socket, RH_MESSAGE_GONE, m.rank, -1, 0);
        } else {
            say(socket, RH_MESSAGE_ENDED, m.rank, m.item, 0);
            say(socket, RH_MESSAGE_ASK, m.rank, -1, play.digest);
        }
    }
    _exit(0);
}

static bool coordinate(Finished *finished, Play what, GError **error)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        play(ends[1], what);
    }
    close(ends[1]);
    RhCoordinator coordinator = {.socket = ends[0], .ranks = RANKS, .digest = DIGEST};
    RhItemPool pool = {
        .next = next, .ended = ended, .waiting = wait_on, .stopped = stopped, .user = finished};
    bool fine = rh_coordinator_run(&coordinator, &pool, error);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return fine;
}

static void every_item_is_done_once(void)
{
    Finished finished = {0};
    CU_ASSERT_TRUE(coordinate(&finished, (Play){.fatal = -1, .digest = DIGEST}, NULL));
    for (int32_t i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(finished.ends[i], 1);
}

/* Also of the last items, when the others wait for an end already. */
static void a_lost_rank_costs_its_item_alone(void)
{
    static const int32_t fatal[] = {0, 7, ITEMS - 1};
    for (size_t i = 0; i < G_N_ELEMENTS(fatal); i++) {
        Finished once = {0}, always = {0};
        CU_ASSERT_TRUE(
            coordinate(&once, (Play){.fatal = fatal[i], .deaths = 1, .digest = DIGEST}, NULL));
        CU_ASSERT_TRUE(
            coordinate(&always, (Play){.fatal = fatal[i], .deaths = 9, .digest = DIGEST}, NULL));
        for (int32_t item = 0; item < ITEMS; item++) {
            CU_ASSERT_TRUE(once.ends[item] == 1 && once.status[item] == 0);
            CU_ASSERT_EQUAL(always.ends[item], 1);
            CU_ASSERT_EQUAL(always.status[item], item == fatal[i] ? RH_JOURNAL_PASSING : 0);
        }
    }
}

static void ranks_of_another_study_are_sent_home(void)
{
    Finished finished = {0};
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(coordinate(&finished, (Play){.fatal = -1, .digest = DIGEST + 1}, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_EQUAL(finished.ends[0], 0);
}

int main(void)
{
    return rh_test_main(
        "coordinator",
        (RhTest[]){{"every_item_is_done_once", every_item_is_done_once},
                   {"a_lost_rank_costs_its_item_alone", a_lost_rank_costs_its_item_alone},
                   {"ranks_of_another_study_are_sent_home", ranks_of_another_study_are_sent_home},
                   {0}});
}
