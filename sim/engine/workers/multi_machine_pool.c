#include "sim/engine/workers/multi_machine_pool.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

#define SILENCE_S     30.0 /* after which a rank is taken as lost; relays speak every few seconds */
#define WORD_EVERY_MS 1000
#define NOBODY        0 /* the first rank performs no item, but when it is alone */
#define ANSWERED      (-1)

typedef struct {
    bool gone, asking;
    int64_t t_heard_us;
} Rank;

/* State of this process, which is one rank of one job. */
static struct {
    RhJobRank job; /* count 0: of no job; socket -1: no longer */
    Rank *ranks;
    int32_t calls;
} own = {.job.socket = -1};

void rh_rank_pool_begin(const RhJobRank *rank)
{
    own.job = *rank;
    own.ranks = g_new0(Rank, rank->count);
    own.calls = 0;
}

bool rh_rank_pool_is_on(void)
{
    return own.job.socket >= 0;
}

void rh_rank_pool_forget(void)
{
    if (own.job.socket >= 0)
        close(own.job.socket);
    own.job.socket = -1;
    g_clear_pointer(&own.ranks, g_free);
}

int32_t rh_rank_pool_jobs(int32_t jobs)
{
    return own.job.count > 0 ? MIN(jobs, 1) : jobs;
}

static void say(RhCoordinatorMessage message, const void *bytes)
{
    if (rh_coordinator_message_write(own.job.socket, &message))
        rh_ignore_failure(rh_coordinator_bytes_write(own.job.socket, bytes, message.length));
}

void rh_rank_pool_end(void)
{
    if (!rh_rank_pool_is_on())
        return;
    if (own.job.number > 0)
        _exit(0);
    for (int32_t i = 1; i < own.job.count; i++)
        if (!own.ranks[i].gone)
            say((RhCoordinatorMessage){.kind = RH_MESSAGE_END, .rank = i}, NULL);
    rh_rank_pool_forget();
}

/* Distinguishes calls: a rank that went another way has another number or other items. */
static uint64_t digest_of(const RhProcessPool *what)
{
    return rh_mix64((uint64_t)own.calls, (uint64_t)what->count);
}

/* --- an item on this machine --- */

typedef void (*RunSingle)(const RhProcessPool *single, int32_t item, void *user);

/* An answer: bytes, or those of the error's text. */
typedef struct {
    int32_t status; /* the error's code; 0: none */
    GByteArray *bytes;
} Answer;

static void keep_single(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Answer *answer = user;
    (void)item;
    if (error) {
        bool ours = error->domain == RH_ERROR && error->code != RH_ERROR_NONE;
        answer->status = ours ? error->code : RH_ERROR_INTERNAL;
        g_byte_array_append(answer->bytes, (const guint8 *)error->message,
                            (guint)strlen(error->message));
    } else {
        g_byte_array_append(answer->bytes, bytes->data, bytes->len);
    }
}

/* Performs an item; returns its answer as a message, with the bytes that follow that, which the
 * caller unrefs. */
static RhCoordinatorMessage perform(const RhProcessPool *what, int32_t item, RunSingle run,
                                    void *user, GByteArray **bytes)
{
    Answer answer = {.bytes = g_byte_array_new()};
    RhProcessPool single = {.count = 1,
                            .jobs = 1,
                            .timeout_s = what->timeout_s,
                            .answer = keep_single,
                            .user = &answer};
    run(&single, item, user);
    *bytes = answer.bytes;
    return (RhCoordinatorMessage){.kind = RH_MESSAGE_BYTES,
                                  .item = item,
                                  .status = answer.status,
                                  .length = answer.bytes->len};
}

/* --- answers --- */

/* Hands the answer of a message to the pool's caller. */
static void take_answer(const RhProcessPool *what, const RhCoordinatorMessage *message,
                        const GByteArray *bytes)
{
    g_autoptr(GError) error = NULL;
    if (message->status != 0) {
        g_autofree char *text = g_strndup((const char *)bytes->data, bytes->len);
        g_set_error_literal(&error, RH_ERROR, message->status, text);
    }
    what->answer(message->item, error ? NULL : bytes, error, what->user);
}

/* Reads the bytes behind a message; NULL: the relay is gone. */
static GByteArray *bytes_of(const RhCoordinatorMessage *message)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_set_size(bytes, (guint)message->length);
    if (message->length > G_MAXINT32 ||
        !rh_coordinator_bytes_read(own.job.socket, bytes->data, message->length))
        return NULL;
    return g_steal_pointer(&bytes);
}

/* --- the first rank --- */

typedef struct {
    const RhProcessPool *what;
    uint64_t digest;
    int32_t *holder;               /* of each item: the rank that performs it; NOBODY, ANSWERED */
    int32_t left;                  /* items without an answer */
    RhCoordinatorMessage *answers; /* of each item */
    GByteArray **bytes;
} Call;

static void lose_rank(Call *call, int32_t rank)
{
    own.ranks[rank].gone = true;
    for (int32_t i = 0; i < call->what->count; i++)
        if (call->holder[i] == rank)
            call->holder[i] = NOBODY;
}

static void keep_answer(Call *call, const RhCoordinatorMessage *message, GByteArray *bytes)
{
    call->holder[message->item] = ANSWERED;
    call->answers[message->item] = *message;
    call->bytes[message->item] = g_byte_array_ref(bytes);
    call->left--;
    take_answer(call->what, message, bytes);
}

static void take_question(Call *call, const RhCoordinatorMessage *message)
{
    if (message->item < own.calls) /* it got the answers of that call meanwhile */
        return;
    if (message->item == own.calls && message->digest == call->digest) {
        own.ranks[message->rank].asking = true;
        return;
    }
    say((RhCoordinatorMessage){.kind = RH_MESSAGE_END, .rank = message->rank}, NULL);
    lose_rank(call, message->rank); /* it went another way */
}

/* Reads one message; false: the relay is gone. */
static bool hear(Call *call)
{
    RhCoordinatorMessage message;
    if (!rh_coordinator_message_read(own.job.socket, &message))
        return false;
    g_autoptr(GByteArray) bytes = bytes_of(&message);
    if (!bytes)
        return false;
    if (message.rank < 1 || message.rank >= own.job.count || own.ranks[message.rank].gone)
        return true;
    own.ranks[message.rank].t_heard_us = g_get_monotonic_time();
    if (message.kind == RH_MESSAGE_GONE)
        lose_rank(call, message.rank);
    else if (message.kind == RH_MESSAGE_ASK)
        take_question(call, &message);
    else if (message.kind == RH_MESSAGE_BYTES && message.digest == call->digest &&
             message.item >= 0 && message.item < call->what->count &&
             call->holder[message.item] == message.rank)
        keep_answer(call, &message, bytes);
    return true;
}

/* Returns an item that nobody performs; -1: none. */
static int32_t next_item(const Call *call)
{
    for (int32_t i = 0; i < call->what->count; i++)
        if (call->holder[i] == NOBODY)
            return i;
    return -1;
}

/* Gives items to ranks that ask; returns how many ranks are left. */
static int32_t give_items(Call *call)
{
    int32_t left = 0;
    int64_t t_now_us = g_get_monotonic_time();
    for (int32_t i = 1; i < own.job.count; i++) {
        Rank *rank = &own.ranks[i];
        if (!rank->gone && (double)(t_now_us - rank->t_heard_us) > SILENCE_S * 1e6)
            lose_rank(call, i);
        left += !rank->gone;
        int32_t item = rank->gone || !rank->asking ? -1 : next_item(call);
        if (item < 0)
            continue;
        rank->asking = false;
        call->holder[item] = i;
        say((RhCoordinatorMessage){.kind = RH_MESSAGE_ITEM, .rank = i, .item = item}, NULL);
    }
    return left;
}

/* Tells all ranks all answers, which each reads when it comes to this call. */
static void tell_answers(const Call *call)
{
    for (int32_t i = 1; i < own.job.count; i++)
        for (int32_t item = 0; item < call->what->count && !own.ranks[i].gone; item++) {
            RhCoordinatorMessage message = call->answers[item];
            message.rank = i;
            say(message, call->bytes[item]->data);
        }
}

static bool listen(Call *call)
{
    struct pollfd fd = {.fd = own.job.socket, .events = POLLIN};
    int some = poll(&fd, 1, WORD_EVERY_MS);
    if (some == 0 && call->what->waiting)
        call->what->waiting(call->what->user);
    return some <= 0 || hear(call);
}

static void perform_here(Call *call, int32_t item, RunSingle run, void *user)
{
    g_autoptr(GByteArray) bytes = NULL;
    RhCoordinatorMessage message = perform(call->what, item, run, user, &bytes);
    keep_answer(call, &message, bytes);
}

static void coordinate(const RhProcessPool *what, RunSingle run, void *user)
{
    Call call = {.what = what,
                 .digest = digest_of(what),
                 .holder = g_new0(int32_t, what->count + 1),
                 .left = what->count,
                 .answers = g_new0(RhCoordinatorMessage, what->count + 1),
                 .bytes = g_new0(GByteArray *, what->count + 1)};
    for (int32_t i = 1; i < own.job.count; i++) {
        own.ranks[i].t_heard_us = g_get_monotonic_time();
        own.ranks[i].asking = false;
    }
    while (call.left > 0) {
        bool alone = give_items(&call) == 0;
        if (!alone && listen(&call))
            continue;
        for (int32_t i = 1; i < own.job.count; i++)
            lose_rank(&call, i);
        perform_here(&call, next_item(&call), run, user);
    }
    tell_answers(&call);
    for (int32_t i = 0; i < what->count; i++)
        g_byte_array_unref(call.bytes[i]);
    g_free(call.bytes);
    g_free(call.answers);
    g_free(call.holder);
}

/* --- the other ranks --- */

static void ask(const RhProcessPool *what)
{
    say((RhCoordinatorMessage){.kind = RH_MESSAGE_ASK,
                               .item = own.calls,
                               .digest = digest_of(what)},
        NULL);
}

static void follow(const RhProcessPool *what, RunSingle run, void *user)
{
    ask(what);
    for (int32_t left = what->count; left > 0;) {
        RhCoordinatorMessage message;
        if (!rh_coordinator_message_read(own.job.socket, &message) || message.item < 0 ||
            message.item >= what->count)
            _exit(0); /* nobody waits for this rank any more */
        if (message.kind == RH_MESSAGE_BYTES) {
            g_autoptr(GByteArray) bytes = bytes_of(&message);
            if (!bytes)
                _exit(0);
            take_answer(what, &message, bytes);
            left--;
            continue;
        }
        if (message.kind != RH_MESSAGE_ITEM)
            _exit(0);
        g_autoptr(GByteArray) bytes = NULL;
        RhCoordinatorMessage told = perform(what, message.item, run, user, &bytes);
        told.digest = digest_of(what);
        say(told, bytes->data);
        ask(what);
    }
}

void rh_rank_pool_run(const RhProcessPool *what,
                      void (*run)(const RhProcessPool *single, int32_t item, void *user),
                      void *user)
{
    g_return_if_fail(rh_rank_pool_is_on());
    own.calls++;
    if (own.job.number == 0)
        coordinate(what, run, user);
    else
        follow(what, run, user);
}
