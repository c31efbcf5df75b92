/* Pools whose items are handed to ranks: the first rank's answers are those of one machine, whoever is lost. */
#include "sim/engine/workers/multi_machine_pool.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

#define RANKS_MAX 5
#define CALLS     4
#define ITEMS     9 /* of the longest call */

/* A job of ranks, of which some die or fall silent. */
typedef struct {
    int32_t ranks;
    int32_t dies;    /* this rank's process, at its first item of the second call; 0: none */
    int32_t strays;  /* this rank leaves out a call, as if it had gone another way; 0: none */
    bool all_die;    /* all but the first */
    bool of_machine; /* no ranks: pools run here */
} Play;

typedef struct {
    int32_t call, rank;
    const Play *play;
    uint64_t sum; /* of all answers */
    int32_t answered, failed;
} Walk;

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Walk *w = user;
    if (item == 3 && w->call == 2) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "item %d has none", item);
        return NULL;
    }
    /* more than a socket holds at a time */
    g_autofree uint64_t *values = g_new(uint64_t, 100000);
    for (int32_t i = 0; i < 100000; i++)
        values[i] = (uint64_t)(w->call * 1000 + item);
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)values, 100000 * sizeof *values);
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Walk *w = user;
    uint64_t value = 0;
    w->answered++;
    if (error) {
        w->failed += rh_test_says(error->message, "item 3 has none") &&
                     error->code == RH_ERROR_NO_ANSWER && item == 3;
        return;
    }
    CU_ASSERT_EQUAL(bytes->len, 100000 * sizeof value);
    memcpy(&value, bytes->data + bytes->len - sizeof value, sizeof value);
    w->sum += value * (uint64_t)(item + 1);
}

/* All calls, as every rank makes them: how many items the next one has depends on answers. */
static Walk walk(const Play *play, int32_t rank)
{
    Walk w = {.rank = rank, .play = play};
    for (w.call = 1; w.call <= CALLS; w.call++) {
        bool last_words = rank > 0 && w.call == 2 && (play->all_die || play->dies == rank);
        if (last_words)
            _exit(1);
        if (rank > 0 && w.call == 2 && play->strays == rank)
            continue;
        RhProcessPool pool = {.count = 1 + (int32_t)((w.sum + 4) % ITEMS),
                              .jobs = 2,
                              .perform = perform,
                              .answer = answer,
                              .of_ranks = true,
                              .user = &w};
        if (w.call == 2)
            pool.count = ITEMS;
        rh_process_pool_run(&pool);
    }
    return w;
}

/* Passes a message with its bytes on to `to`; false: `from` is gone. */
static bool pass(int from, int to, int32_t as)
{
    RhCoordinatorMessage m;
    if (!rh_coordinator_message_read(from, &m))
        return false;
    g_autofree char *bytes = g_malloc(m.length + 1);
    if (!rh_coordinator_bytes_read(from, bytes, m.length))
        return false;
    if (as >= 0)
        m.rank = as;
    if (rh_coordinator_message_write(to, &m))
        rh_ignore_failure(rh_coordinator_bytes_write(to, bytes, m.length));
    return true;
}

/* Relays between the first rank and the others, of which sockets[i] leads to rank i. */
static void relay(const int *sockets, int32_t ranks)
{
    struct pollfd fds[RANKS_MAX];
    for (int32_t i = 0; i < ranks; i++)
        fds[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    while (poll(fds, (nfds_t)ranks, -1) > 0) {
        if (fds[0].revents) {
            RhCoordinatorMessage m;
            if (recv(sockets[0], &m, sizeof m, MSG_PEEK | MSG_WAITALL) != (ssize_t)sizeof m ||
                !pass(sockets[0], sockets[m.rank], -1))
                _exit(0);
        }
        for (int32_t i = 1; i < ranks; i++)
            if (fds[i].revents && !pass(sockets[i], sockets[0], i)) {
                RhCoordinatorMessage gone = {.kind = RH_MESSAGE_GONE, .rank = i};
                rh_ignore_failure(rh_coordinator_message_write(sockets[0], &gone));
                fds[i].fd = -1;
            }
    }
    _exit(0);
}

/* Starts a relay and the other ranks; returns the first rank's socket. */
static int start(const Play *play)
{
    int own[RANKS_MAX], far[RANKS_MAX];
    for (int32_t i = 0; i < play->ranks; i++) {
        int ends[2];
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        own[i] = ends[0];
        far[i] = ends[1];
    }
    for (int32_t i = 1; i < play->ranks; i++)
        if (fork() == 0) {
            for (int32_t k = 0; k < play->ranks; k++) {
                close(far[k]);
                if (k != i)
                    close(own[k]);
            }
            rh_rank_pool_begin(&(RhJobRank){.socket = own[i], .number = i, .count = play->ranks});
            walk(play, i);
            rh_rank_pool_end();
            _exit(1);
        }
    if (fork() == 0) {
        for (int32_t i = 0; i < play->ranks; i++)
            close(own[i]);
        relay(far, play->ranks);
    }
    for (int32_t i = 0; i < play->ranks; i++) {
        close(far[i]);
        if (i > 0)
            close(own[i]);
    }
    return own[0];
}

/* The first rank is a process of its own, as one process is a rank of one job. */
static void check(const Play *play)
{
    Walk alone = walk(&(Play){.of_machine = true}, 0);
    pid_t pid = fork();
    if (pid == 0) {
        rh_rank_pool_begin(&(RhJobRank){.socket = start(play), .number = 0, .count = play->ranks});
        Walk w = walk(play, 0);
        rh_rank_pool_end();
        bool same = w.sum == alone.sum && w.answered == alone.answered && w.failed == alone.failed;
        _exit(same ? 0 : 1);
    }
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CU_ASSERT_EQUAL(alone.failed, 1);
}

static void any_number_of_ranks_answers_as_one_machine(void)
{
    for (int32_t ranks = 2; ranks <= RANKS_MAX; ranks++)
        check(&(Play){.ranks = ranks});
}

static void a_rank_that_is_lost_costs_its_item_alone(void)
{
    check(&(Play){.ranks = 4, .dies = 2});
    check(&(Play){.ranks = 2, .dies = 1});
    check(&(Play){.ranks = 5, .all_die = true});
}

static void a_rank_that_goes_another_way_is_sent_home(void)
{
    check(&(Play){.ranks = 4, .strays = 3});
}

int main(void)
{
    return rh_test_main("rank_pool", (RhTest[]){{"any_number_of_ranks_answers_as_one_machine",
                                                 any_number_of_ranks_answers_as_one_machine},
                                                {"a_rank_that_is_lost_costs_its_item_alone",
                                                 a_rank_that_is_lost_costs_its_item_alone},
                                                {"a_rank_that_goes_another_way_is_sent_home",
                                                 a_rank_that_goes_another_way_is_sent_home},
                                                {0}});
}
