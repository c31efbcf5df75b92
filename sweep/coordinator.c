#include "sweep/coordinator.h"

#include <poll.h>
#include <stdlib.h>

#include "base/error.h"
#include "sweep/journal.h"

#define SILENCE_S     30.0 /* after which a rank is taken as dead; relays speak every few seconds */
#define WORD_EVERY_MS 1000
#define IDLE          (-1)

typedef struct {
    int32_t item; /* at hand, or IDLE */
    int64_t t_begin_us, t_heard_us;
    bool gone, asking; /* asking: waits for an answer, as others may lose their items yet */
} Rank;

typedef struct {
    const RhCoordinator *d;
    const RhItemPool *what;
    Rank *ranks;
    GArray *again;      /* int32_t: items whose ranks were lost */
    GHashTable *killed; /* set of items that were in `again` */
    bool ending, strangers;
} Coordination;

static void answer(Coordination *g, int32_t rank, RhCoordinatorMessageKind kind, int32_t item)
{
    RhCoordinatorMessage message = {.kind = kind, .rank = rank, .item = item};
    g->ranks[rank].asking = false;
    if (!rh_coordinator_message_write(g->d->socket, &message))
        g->ending = true;
}

static int32_t busy_ranks(const Coordination *g)
{
    int32_t busy = 0;
    for (int32_t i = 1; i < g->d->ranks; i++)
        busy += g->ranks[i].item != IDLE;
    return busy;
}

/* Returns what is given next; while others are at work more may come back. */
static RhNextItemStatus next_item(Coordination *g, int32_t *item)
{
    if (g->ending || g->what->stopped(g->what->user)) {
        g->ending = true;
        return RH_NEXT_NONE;
    }
    if (g->again->len > 0) {
        *item = g_array_index(g->again, int32_t, g->again->len - 1);
        g_array_set_size(g->again, g->again->len - 1);
        return RH_NEXT_ITEM;
    }
    RhNextItemStatus next = g->what->next(item, g->what->user);
    return next == RH_NEXT_NONE && busy_ranks(g) > 0 ? RH_NEXT_LATER : next;
}

/* Answers those who wait, as far as that can be decided. */
static void give_items(Coordination *g)
{
    for (int32_t i = 1; i < g->d->ranks; i++) {
        int32_t item = IDLE;
        if (!g->ranks[i].asking || g->ranks[i].gone)
            continue;
        RhNextItemStatus next = next_item(g, &item);
        if (next == RH_NEXT_LATER)
            return;
        g->ranks[i].item = next == RH_NEXT_ITEM ? item : IDLE;
        g->ranks[i].t_begin_us = g_get_monotonic_time();
        answer(g, i, next == RH_NEXT_ITEM ? RH_MESSAGE_ITEM : RH_MESSAGE_END, item);
    }
}

static void tell_end(Coordination *g, int32_t item, const RhItemOutcome *end)
{
    g->ending |= !g->what->ended(item, end, g->what->user);
}

/* An item is given out once more; whoever loses it twice may die of it. */
static void lose_rank(Coordination *g, int32_t number)
{
    Rank *rank = &g->ranks[number];
    int32_t item = rank->item;
    rank->gone = true;
    rank->item = IDLE;
    if (item == IDLE)
        return;
    if (g_hash_table_add(g->killed, GINT_TO_POINTER(item))) {
        g_array_append_val(g->again, item);
        return;
    }
    RhItemOutcome end = {.status = RH_JOURNAL_PASSING,
                         .seconds = 1e-6 * (double)(g_get_monotonic_time() - rank->t_begin_us),
                         .lost = true,
                         .error = "two ranks that asked it were lost"};
    tell_end(g, item, &end);
}

static void take_message(Coordination *g, const RhCoordinatorMessage *m)
{
    if (m->rank < 1 || m->rank >= g->d->ranks)
        return;
    Rank *rank = &g->ranks[m->rank];
    rank->t_heard_us = g_get_monotonic_time();
    if (m->kind == RH_MESSAGE_GONE)
        lose_rank(g, m->rank);
    if (rank->gone)
        return;
    if (m->kind == RH_MESSAGE_ENDED && m->item == rank->item) {
        RhItemOutcome end = {.status = m->status, .seconds = m->seconds, .error = ""};
        rank->item = IDLE;
        tell_end(g, m->item, &end);
    } else if (m->kind == RH_MESSAGE_ASK && m->digest != g->d->digest) {
        g->strangers = true;
        answer(g, m->rank, RH_MESSAGE_END, IDLE);
        rank->gone = true;
    } else if (m->kind == RH_MESSAGE_ASK) {
        rank->asking = true;
    }
}

static void lose_silent_ranks(Coordination *g)
{
    int64_t t_now_us = g_get_monotonic_time();
    for (int32_t i = 1; i < g->d->ranks; i++)
        if (!g->ranks[i].gone && (double)(t_now_us - g->ranks[i].t_heard_us) > SILENCE_S * 1e6)
            lose_rank(g, i);
}

static int32_t ranks_left(const Coordination *g)
{
    int32_t left = 0;
    for (int32_t i = 1; i < g->d->ranks; i++)
        left += !g->ranks[i].gone;
    return left;
}

static bool listen_and_answer(Coordination *g, GError **error)
{
    while (ranks_left(g) > 0) {
        struct pollfd fd = {.fd = g->d->socket, .events = POLLIN};
        RhCoordinatorMessage message;
        int some = poll(&fd, 1, WORD_EVERY_MS);
        if (some > 0 && !rh_coordinator_message_read(g->d->socket, &message))
            return rh_fail(error, RH_ERROR_REFUSED,
                           "the process that relays to other ranks is gone");
        if (some > 0)
            take_message(g, &message);
        else if (some == 0)
            g->what->waiting(g->what->user);
        lose_silent_ranks(g);
        give_items(g);
    }
    return true;
}

bool rh_coordinator_run(const RhCoordinator *coordinator, const RhItemPool *what, GError **error)
{
    Coordination g = {.d = coordinator,
                      .what = what,
                      .ranks = g_new0(Rank, coordinator->ranks),
                      .again = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                      .killed = g_hash_table_new(NULL, NULL)};
    for (int32_t i = 0; i < coordinator->ranks; i++)
        g.ranks[i] = (Rank){.item = IDLE, .t_heard_us = g_get_monotonic_time()};
    bool fine = listen_and_answer(&g, error);
    int32_t item;
    if (fine && g.strangers)
        fine = rh_fail(error, RH_ERROR_INPUT,
                       "ranks read another study: its file, a file that it names or the version of "
                       "the program differs between machines");
    else if (fine && !g.ending && next_item(&g, &item) == RH_NEXT_ITEM)
        fine = rh_fail(error, RH_ERROR_REFUSED, "all ranks have left before the study was done");
    g_free(g.ranks);
    g_array_unref(g.again);
    g_hash_table_unref(g.killed);
    return fine;
}
