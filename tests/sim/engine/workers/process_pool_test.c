/* Children that do work, die, are killed, run late; and a machine that lends no more of them. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/engine/workers/fork_server.h"
#include "sim/engine/workers/process_pool.h"
#include "tests/kit/testkit.h"

#define ITEMS 6

typedef struct {
    int32_t *tries; /* shared with the children, per item */
    char *texts[ITEMS];
    int32_t codes[ITEMS]; /* 0 when it went well */
    int32_t answers, waits;
} Record;

typedef enum {
    DOES_WELL,
    IS_KILLED_ONCE,
    IS_KILLED,
    RUNS_OUT_OF_MEMORY,
    CRASHES,
    REFUSES,
} Fate;

static GByteArray *meet_fate(int32_t item, void *user, GError **error)
{
    Record *record = user;
    int32_t try = record->tries[item]++;
    Fate fate = (Fate)item;
    static const char no_memory[] = "GLib-ERROR **: gmem.c:207: failed to allocate 8 bytes\n";
    static const char last_words[] = "what a pity\n";
    if (fate == IS_KILLED || (fate == IS_KILLED_ONCE && try == 0))
        raise(SIGKILL);
    if (fate == RUNS_OUT_OF_MEMORY && write(STDERR_FILENO, no_memory, sizeof no_memory - 1) > 0)
        _exit(133);
    if (fate == CRASHES && write(STDERR_FILENO, last_words, sizeof last_words - 1) > 0)
        raise(SIGABRT);
    if (fate == REFUSES) {
        rh_fail(error, RH_ERROR_INPUT, "item %d is refused", item);
        return NULL;
    }
    char *text = g_strdup_printf("item %d", item);
    return g_byte_array_new_take((guint8 *)text, strlen(text));
}

static void note(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Record *record = user;
    record->answers++;
    record->codes[item] = error ? error->code : 0;
    record->texts[item] =
        error ? g_strdup(error->message) : g_strndup((const char *)bytes->data, bytes->len);
}

static void record_init(Record *record)
{
    *record = (Record){0};
    record->tries = mmap(NULL, sizeof(int32_t) * ITEMS, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(record->tries != MAP_FAILED);
}

static void record_clear(Record *record)
{
    munmap(record->tries, sizeof(int32_t) * ITEMS);
    for (int i = 0; i < ITEMS; i++)
        g_free(record->texts[i]);
}

static GByteArray *meet_noted_fate(const void *item, void *user, GError **error)
{
    return meet_fate(*(const int32_t *)item, user, error);
}

/* Checks the answers of a pool; a fork server has begun the first `begun` items before the call. */
static void every_fate_is_told(int32_t jobs, bool in_nursery, int32_t begun)
{
    Record r;
    record_init(&r);
    RhProcessPool workers = {
        .count = ITEMS, .jobs = jobs, .perform = meet_fate, .answer = note, .user = &r};
    g_autoptr(RhForkServer) server = rh_fork_server_new(
        &(RhForkServerWork){.perform = meet_noted_fate, .note_bytes = sizeof(int32_t), .user = &r});
    static const int32_t notes[ITEMS] = {0, 1, 2, 3, 4, 5};
    for (int32_t i = 0; i < begun; i++)
        rh_fork_server_begin(server, jobs - 1, 0, &notes[i], NULL);
    if (in_nursery)
        rh_fork_server_run(server, &workers, notes, NULL);
    else
        rh_process_pool_run(&workers);
    CU_ASSERT_EQUAL(r.answers, ITEMS);
    CU_ASSERT_EQUAL(r.codes[DOES_WELL], 0);
    CU_ASSERT_STRING_EQUAL(r.texts[DOES_WELL], "item 0");
    CU_ASSERT_EQUAL(r.codes[IS_KILLED_ONCE], 0); /* lost, and done once more */
    CU_ASSERT_EQUAL(r.tries[IS_KILLED_ONCE], 2);
    CU_ASSERT_EQUAL(r.codes[IS_KILLED], RH_ERROR_NO_ANSWER);
    CU_ASSERT_EQUAL(r.tries[IS_KILLED], 2);
    CU_ASSERT_EQUAL(r.codes[RUNS_OUT_OF_MEMORY], RH_ERROR_NO_ANSWER);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.texts[RUNS_OUT_OF_MEMORY], "memory ran out"));
    CU_ASSERT_EQUAL(r.codes[CRASHES], RH_ERROR_INTERNAL);
    CU_ASSERT_EQUAL(r.tries[CRASHES], 1); /* it would crash again */
    CU_ASSERT_PTR_NOT_NULL(strstr(r.texts[CRASHES], "what a pity"));
    CU_ASSERT_EQUAL(r.codes[REFUSES], RH_ERROR_INPUT);
    CU_ASSERT_STRING_EQUAL(r.texts[REFUSES], "item 5 is refused");
    record_clear(&r);
}

static void fates_do_not_depend_on_jobs(void)
{
    every_fate_is_told(1, false, 0);
    every_fate_is_told(4, false, 0);
}

static void fates_in_a_nursery_are_the_same(void)
{
    every_fate_is_told(1, true, 0);
    every_fate_is_told(4, true, 0);
}

static void what_is_begun_before_its_call_is_answered_in_it(void)
{
    static const int32_t jobs[] = {1, 2, 4};
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
        for (int32_t begun = 1; begun <= ITEMS; begun++)
            every_fate_is_told(jobs[i], true, begun);
}

/* News that a server was told, and whether it is to be lost. */
typedef struct {
    char told[16];
    bool *lost; /* shared with the children */
} Nursed;

static void hear(const void *news, size_t length, void *user)
{
    memcpy(((Nursed *)user)->told, news, length);
}

static GByteArray *say_told(const void *item, void *user, GError **error)
{
    (void)error;
    const Nursed *n = user;
    if (!*n->lost) {
        *n->lost = true;
        kill(getppid(), SIGKILL); /* the server */
        g_usleep(60 * G_USEC_PER_SEC);
    }
    char *text = g_strdup_printf("%d %s", *(const int32_t *)item, n->told);
    return g_byte_array_new_take((guint8 *)text, strlen(text));
}

static void server_round(RhForkServer *server, const char *news, const char *last)
{
    Record r = {0};
    static const int32_t notes[] = {7, 8, 9};
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)news, (guint)strlen(news) + 1);
    rh_fork_server_run(server, &(RhProcessPool){.count = 3, .jobs = 2, .answer = note, .user = &r},
                       notes, bytes);
    CU_ASSERT_EQUAL(r.answers, 3);
    CU_ASSERT_STRING_EQUAL(r.texts[2], last);
    for (int i = 0; i < ITEMS; i++)
        g_free(r.texts[i]);
}

static void a_nursery_is_told_news_and_may_be_lost(void)
{
    Nursed n = {"nothing", mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    CU_ASSERT_FATAL(n.lost != MAP_FAILED);
    *n.lost = true; /* not yet */
    g_autoptr(RhForkServer) server = rh_fork_server_new(&(RhForkServerWork){
        .perform = say_told, .note_bytes = sizeof(int32_t), .hear = hear, .user = &n});
    server_round(server, "news", "9 news");
    server_round(server, "more", "9 more");
    *n.lost = false;
    server_round(server, "lost", "9 nothing"); /* what the caller knew itself */
    munmap(n.lost, sizeof(bool));
}

static GByteArray *mark_begun(const void *item, void *user, GError **error)
{
    ((int32_t *)user)[*(const int32_t *)item] = 1;
    return meet_noted_fate(item, &(Record){.tries = user}, error);
}

/* Is it so within ten seconds? */
static bool comes_to_be(const volatile int32_t *what, int32_t value)
{
    for (int i = 0; i < 1000 && *what != value; i++)
        g_usleep(10000);
    return *what == value;
}

static void what_is_begun_does_not_wait_for_its_call(void)
{
    Record r;
    record_init(&r);
    static const int32_t notes[] = {DOES_WELL, REFUSES};
    g_autoptr(RhForkServer) server = rh_fork_server_new(
        &(RhForkServerWork){.perform = mark_begun, .note_bytes = sizeof(int32_t), .user = r.tries});
    rh_fork_server_begin(server, 1, 0, &notes[0], NULL);
    CU_ASSERT_TRUE(comes_to_be(&r.tries[DOES_WELL], 2)); /* marked and counted */
    rh_fork_server_begin(server, 1, 0, &notes[1], NULL);
    CU_ASSERT_TRUE(comes_to_be(&r.tries[REFUSES], 2)); /* behind the first, which has ended */
    CU_ASSERT_EQUAL(r.answers, 0);
    rh_fork_server_run(server, &(RhProcessPool){.count = 2, .jobs = 1, .answer = note, .user = &r},
                       notes, NULL);
    CU_ASSERT_EQUAL(r.answers, 2);
    CU_ASSERT_STRING_EQUAL(r.texts[0], "item 0");
    CU_ASSERT_EQUAL(r.codes[1], RH_ERROR_INPUT);
    record_clear(&r);
}

static void what_is_begun_may_be_forgotten(void)
{
    bool lost = true;
    Nursed n = {"nothing", &lost};
    static const int32_t seven = 7;
    g_autoptr(RhForkServer) server = rh_fork_server_new(&(RhForkServerWork){
        .perform = say_told, .note_bytes = sizeof(int32_t), .hear = hear, .user = &n});
    rh_fork_server_forget(server);
    server_round(server, "news", "9 news"); /* nothing was begun: it is there */
    rh_fork_server_begin(server, 1, 0, &seven, NULL);
    rh_fork_server_forget(server);
    server_round(server, "more", "9 nothing"); /* by the caller's own */
}

/* Data that a server began with. */
typedef struct {
    bool can_begin, has_begun;
} Begun;

static bool begin(void *user)
{
    Begun *b = user;
    b->has_begun = true;
    return b->can_begin;
}

static GByteArray *say_begun(const void *item, void *user, GError **error)
{
    (void)error;
    const Begun *b = user;
    char *text = g_strdup_printf("%d %s", *(const int32_t *)item, b->has_begun ? "begun" : "not");
    return g_byte_array_new_take((guint8 *)text, strlen(text));
}

/* Workers of a nursery find done what it began with, those of its caller do not; a nursery that
 * cannot begin is as good as lost. */
static void a_nursery_begins_once(void)
{
    Begun fine = {.can_begin = true}, fails = {0};
    RhForkServerWork work = {.perform = say_begun, .note_bytes = sizeof(int32_t), .begin = begin};
    work.user = &fine;
    g_autoptr(RhForkServer) server = rh_fork_server_new(&work);
    server_round(server, "", "9 begun");
    CU_ASSERT_FALSE(fine.has_begun); /* here */
    work.user = &fails;
    g_autoptr(RhForkServer) ended = rh_fork_server_new(&work);
    server_round(ended, "", "9 not");
}

static GByteArray *take_long(int32_t item, void *user, GError **error)
{
    g_usleep(2500000);
    return meet_fate(item, user, error);
}

static void count_waiting(void *user)
{
    ((Record *)user)->waits++;
}

static void who_waits_hears_of_it_each_second(void)
{
    Record r;
    record_init(&r);
    RhProcessPool workers = {.count = 1,
                             .jobs = 1,
                             .perform = take_long,
                             .answer = note,
                             .waiting = count_waiting,
                             .user = &r};
    rh_process_pool_run(&workers);
    CU_ASSERT_EQUAL(r.answers, 1);
    CU_ASSERT_TRUE(r.waits >= 1 && r.waits <= 3);
    record_clear(&r);
}

static GByteArray *do_well(int32_t item, void *user, GError **error)
{
    return meet_fate(DOES_WELL, user, error)
               ? g_byte_array_append(g_byte_array_new(), (const guint8 *)&item, 4)
               : NULL;
}

/* Open descriptors from here on, at most; what there were. */
static struct rlimit limit_descriptors(rlim_t count)
{
    struct rlimit before, few;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){count, before.rlim_max};
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    return before;
}

static void without_descriptors_the_answer_names_them(void)
{
    Record r;
    record_init(&r);
    RhProcessPool workers = {.count = 2, .jobs = 2, .perform = do_well, .answer = note, .user = &r};
    struct rlimit before = limit_descriptors(4); /* at best one more than the three that are open */
    rh_process_pool_run(&workers);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT_EQUAL(r.answers, 2);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(r.codes[i], RH_ERROR_REFUSED);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.texts[i], "open files"));
    }
    record_clear(&r);
}

static void count_refused(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    (void)item, (void)bytes;
    *(int32_t *)user += g_error_matches(error, RH_ERROR, RH_ERROR_REFUSED);
}

/* The machine is asked a few times in all, not for every item. */
static void many_items_are_refused_as_soon_as_one(void)
{
    int32_t refused = 0;
    RhProcessPool workers = {
        .count = 500, .jobs = 4, .perform = do_well, .answer = count_refused, .user = &refused};
    struct rlimit before = limit_descriptors(4);
    int64_t t_start_us = g_get_monotonic_time();
    rh_process_pool_run(&workers);
    CU_ASSERT_TRUE(g_get_monotonic_time() - t_start_us < 5 * G_USEC_PER_SEC);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT_EQUAL(refused, 500);
}

/* Is refused while another is at work. */
static GByteArray *need_all(int32_t item, void *user, GError **error)
{
    gint *at_work = ((Record *)user)->tries;
    bool alone = g_atomic_int_add(at_work, 1) == 0;
    g_usleep(20000);
    g_atomic_int_add(at_work, -1);
    if (!alone) {
        rh_fail(error, RH_ERROR_REFUSED, "no process for item %d", item);
        return NULL;
    }
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)&item, 4);
}

static void what_a_child_is_refused_it_gets_when_others_have_ended(void)
{
    Record r;
    record_init(&r);
    rh_process_pool_run(&(RhProcessPool){
        .count = ITEMS, .jobs = 3, .perform = need_all, .answer = note, .user = &r});
    CU_ASSERT_EQUAL(r.answers, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(r.codes[i], 0);
    record_clear(&r);
}

static void a_child_that_is_refused_alone_says_so(void)
{
    Record r;
    record_init(&r);
    *r.tries = 1; /* somebody who does not end */
    rh_process_pool_run(
        &(RhProcessPool){.count = 2, .jobs = 2, .perform = need_all, .answer = note, .user = &r});
    CU_ASSERT_EQUAL(r.answers, 2);
    CU_ASSERT_EQUAL(r.codes[0], RH_ERROR_REFUSED);
    CU_ASSERT_EQUAL(r.codes[1], RH_ERROR_REFUSED);
    record_clear(&r);
}

static bool begin_without_descriptors(void *user)
{
    ((Begun *)user)->has_begun = true;
    limit_descriptors(4);
    return true;
}

static void a_nursery_that_is_refused_children_leaves_them_to_its_caller(void)
{
    Begun begun = {0};
    g_autoptr(RhForkServer) server =
        rh_fork_server_new(&(RhForkServerWork){.perform = say_begun,
                                               .note_bytes = sizeof(int32_t),
                                               .begin = begin_without_descriptors,
                                               .user = &begun});
    server_round(server, "", "9 not");
    server_round(server, "", "9 not"); /* and for good */
}

static void few_descriptors_mean_fewer_workers(void)
{
    Record r;
    record_init(&r);
    RhProcessPool workers = {
        .count = ITEMS, .jobs = ITEMS, .perform = do_well, .answer = note, .user = &r};
    struct rlimit before = limit_descriptors(8); /* room for two of six */
    rh_process_pool_run(&workers);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT_EQUAL(r.answers, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(r.codes[i], 0);
    record_clear(&r);
}

static GByteArray *sleep_long(int32_t item, void *user, GError **error)
{
    (void)item, (void)user, (void)error;
    g_usleep(60 * G_USEC_PER_SEC);
    return NULL;
}

static void the_time_is_kept(void)
{
    Record r;
    record_init(&r);
    RhProcessPool workers = {.count = ITEMS,
                             .jobs = 2,
                             .timeout_s = 0.05,
                             .perform = sleep_long,
                             .answer = note,
                             .user = &r};
    int64_t t_start_us = g_get_monotonic_time();
    rh_process_pool_run(&workers);
    CU_ASSERT_TRUE(g_get_monotonic_time() - t_start_us < 550000);
    CU_ASSERT_EQUAL(r.answers, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(r.codes[i], RH_ERROR_NO_ANSWER);
    record_clear(&r);
}

int main(void)
{
    return rh_test_main(
        "process_pool",
        (const RhTest[]){
            {"fates_do_not_depend_on_jobs", fates_do_not_depend_on_jobs},
            {"fates_in_a_nursery_are_the_same", fates_in_a_nursery_are_the_same},
            {"what_is_begun_before_its_call_is_answered_in_it",
             what_is_begun_before_its_call_is_answered_in_it},
            {"what_is_begun_does_not_wait_for_its_call", what_is_begun_does_not_wait_for_its_call},
            {"what_is_begun_may_be_forgotten", what_is_begun_may_be_forgotten},
            {"a_nursery_is_told_news_and_may_be_lost", a_nursery_is_told_news_and_may_be_lost},
            {"a_nursery_begins_once", a_nursery_begins_once},
            {"without_descriptors_the_answer_names_them",
             without_descriptors_the_answer_names_them},
            {"few_descriptors_mean_fewer_workers", few_descriptors_mean_fewer_workers},
            {"many_items_are_refused_as_soon_as_one", many_items_are_refused_as_soon_as_one},
            {"what_a_child_is_refused_it_gets_when_others_have_ended",
             what_a_child_is_refused_it_gets_when_others_have_ended},
            {"a_child_that_is_refused_alone_says_so", a_child_that_is_refused_alone_says_so},
            {"a_nursery_that_is_refused_children_leaves_them_to_its_caller",
             a_nursery_that_is_refused_children_leaves_them_to_its_caller},
            {"who_waits_hears_of_it_each_second", who_waits_hears_of_it_each_second},
            {"the_time_is_kept", the_time_is_kept},
            {0}});
}
