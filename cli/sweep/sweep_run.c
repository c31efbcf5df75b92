#include "cli/sweep/sweep_run.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"
#include "cli/output/terminal.h"
#include "cli/sweep/sweep_item.h"
#include "cli/sweep/sweepable_commands.h"
#include "sweep/coordinator.h"
#include "sweep/cost_model.h"
#include "sweep/item_client.h"
#include "sweep/item_workers.h"
#include "sweep/journal.h"

#define TROUBLES_MAX 5 /* failures that are told; refusals likewise, each reason once */
#define SORT_AFTER   8 /* questions, before their seconds correct the estimates */
#define KNOWN_AFTER  8 /* questions, before a time left is told */

typedef struct {
    const RhSweepRun *run;
    RhSweepOutcome *outcome;
    RhSweepWork work;
    GArray *order; /* int32_t: items to ask */
    guint at;      /* the next one of `order` */
    int32_t jobs;
    double squares_s2;   /* of seconds, summed */
    RhItemCosts *costs;  /* where a coordinator hands items out, dearest first; else NULL */
    int32_t sort_at;     /* items asked, at which the rest is put in order again */
    uint64_t digest;     /* of the study's keys */
    RhItemClient client; /* where a coordinator hands items out */
    gint64 t_start_us;
    GError *problem; /* that ended the run */
} Sweep;

static volatile sig_atomic_t signals_count;

/* The first signal lets questions end, the second does not. */
static void note_signal(int number)
{
    if (++signals_count > 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void watch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGUSR1};
    const struct sigaction act = {.sa_handler = note_signal};
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        sigaction(ends[i], &act, NULL);
}

/* --- what is to be asked --- */

static int by_key(const void *a, const void *b, void *user)
{
    const GPtrArray *items = user;
    const RhStudyItem *x = g_ptr_array_index(items, *(const int32_t *)a),
                      *y = g_ptr_array_index(items, *(const int32_t *)b);
    return strcmp(x->key, y->key);
}

/* Questions are asked in the order of their hashes: so those that are done are a sample of those that
 * are left, and the time left can be told from the first ones. */
static bool order_items(Sweep *s, const RhJournals *journals, GError **error)
{
    const RhSweepRun *run = s->run;
    const RhArguments *a = run->arguments;
    for (guint i = 0; i < run->study->items->len; i++) {
        const RhStudyItem *item = g_ptr_array_index(run->study->items, i);
        if (!rh_shard_has(run->shard, item->key))
            continue;
        const RhJournalRecord *record = rh_journals_find(journals, item->key);
        bool again = record && a->retry && rh_journal_is_failure(record->status);
        s->outcome->count++;
        s->outcome->known += record && !again;
        if (record && s->costs)
            rh_item_costs_add(s->costs, (int32_t)i, record->seconds);
        if (!record || again)
            g_array_append_val(s->order, i);
    }
    g_array_sort_with_data(s->order, by_key, run->study->items);
    if (s->outcome->known > 0 && !a->resumed && !a->retry)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s holds answers to %" G_GINT64_FORMAT " of these %" G_GINT64_FORMAT
                       " questions\nhelp: --resume asks the others; --folder names another place",
                       run->folder, s->outcome->known, s->outcome->count);
    return true;
}

/* --- time left --- */

static int64_t asked(const RhSweepOutcome *o)
{
    return o->answered + o->no + o->refused + o->failed;
}

/* Time left by the fitted costs of questions. */
static void told_by_costs(const Sweep *s, double done, double *left_s, double *spread_s)
{
    double squares_s2 = 0, spread = rh_item_costs_spread(s->costs);
    *left_s = 0;
    for (guint i = s->at; i < s->order->len; i++) {
        double seconds = rh_item_costs_seconds(s->costs, g_array_index(s->order, int32_t, i));
        *left_s += seconds;
        squares_s2 += seconds * seconds;
    }
    *spread_s = 2 * spread * sqrt(squares_s2 + *left_s * *left_s / done);
}

/* Appends the time left as a range: what questions took so far, whose mean is known to two standard
 * errors, and how much the rest may differ from it. */
static void append_left(const Sweep *s, GString *line)
{
    const RhSweepOutcome *o = s->outcome;
    double done = (double)asked(o);
    double left = (double)s->order->len - done;
    if (done < KNOWN_AFTER || left <= 0)
        return;
    double mean_s = o->busy_s / done;
    double deviation_s = sqrt(fmax(s->squares_s2 / done - mean_s * mean_s, 0));
    double left_s = left * mean_s, spread_s = 2 * deviation_s * sqrt(left + left * left / done);
    if (s->costs) /* these were no sample */
        told_by_costs(s, done, &left_s, &spread_s);
    double low_s = fmax(left_s - spread_s, 0) / s->jobs;
    double high_s = (left_s + spread_s) / s->jobs;
    g_autofree char *low = rh_quantity_format(low_s, RH_QUANTITY_S, 2);
    g_autofree char *high = rh_quantity_format(high_s, RH_QUANTITY_S, 2);
    if (strcmp(low, high) == 0)
        g_string_append_printf(line, "  %s left", low);
    else
        g_string_append_printf(line, "  %s to %s left", low, high);
}

static void show_progress(void *user)
{
    const Sweep *s = user;
    const RhSweepOutcome *o = s->outcome;
    if (!rh_terminal_progress_due())
        return;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "asked %" G_GINT64_FORMAT "/%u", asked(o), s->order->len);
    if (o->failed > 0)
        g_string_append_printf(line, "  %" G_GINT64_FORMAT " failed", o->failed);
    append_left(s, line);
    rh_terminal_progress_line(line->str);
}

/* --- the pool's calls --- */

static const RhStudyItem *item_of(const Sweep *s, int32_t item)
{
    return g_ptr_array_index(s->run->study->items, item);
}

static int32_t perform(int32_t item, void *user)
{
    Sweep *s = user;
    return rh_sweep_perform(&s->work, item_of(s, item));
}

static int by_cost(const void *a, const void *b, void *user)
{
    const RhItemCosts *costs = user;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    double x_s = rh_item_costs_seconds(costs, x), y_s = rh_item_costs_seconds(costs, y);
    return x_s != y_s ? (x_s < y_s ? 1 : -1) : (x > y) - (x < y);
}

/* Puts what is left in order, the dearest first: by estimates before the first question, and by what was measured each time
 * that is twice as much. */
static void sort_rest(Sweep *s)
{
    if (!s->costs || rh_item_costs_count(s->costs) < s->sort_at)
        return;
    s->sort_at = MAX(2 * rh_item_costs_count(s->costs), SORT_AFTER);
    if (rh_item_costs_count(s->costs) >= SORT_AFTER)
        rh_item_costs_fit(s->costs);
    g_qsort_with_data((int32_t *)(void *)s->order->data + s->at, (int)(s->order->len - s->at),
                      sizeof(int32_t), by_cost, s->costs);
}

static RhNextItemStatus next(int32_t *item, void *user)
{
    Sweep *s = user;
    sort_rest(s);
    if (s->at >= s->order->len)
        return RH_NEXT_NONE;
    *item = g_array_index(s->order, int32_t, s->at++);
    return RH_NEXT_ITEM;
}

/* Enters what a lost worker could not. */
static bool enter_loss(Sweep *s, const RhStudyItem *item, const RhItemOutcome *end)
{
    g_autofree char *line = rh_study_line(s->run->study, item);
    RhJournalEntry entry = {.key = item->key,
                            .line = line,
                            .status = end->status,
                            .seconds = end->seconds,
                            .error = end->error};
    return rh_journal_append(s->work.journal, &entry, s->problem ? NULL : &s->problem);
}

static void note_trouble(Sweep *s, const RhStudyItem *item, const RhItemOutcome *end)
{
    if (s->outcome->troubles->len >= TROUBLES_MAX)
        return;
    g_autofree char *line = rh_study_line(s->run->study, item);
    g_ptr_array_add(s->outcome->troubles,
                    *end->error ? g_strdup_printf("%s\n    %s", line, end->error)
                                : g_strdup_printf("%s\n    status %d", line, end->status));
}

/* Notes a refusal, where none had the same reason. */
static void note_refusal(Sweep *s, const RhStudyItem *item, const RhItemOutcome *end)
{
    g_autofree char *why = *end->error ? g_strndup(end->error, strcspn(end->error, "\n"))
                                       : g_strdup_printf("status %d", end->status);
    GPtrArray *refusals = s->outcome->refusals;
    for (guint i = 0; i < refusals->len; i++)
        if (g_str_has_suffix(g_ptr_array_index(refusals, i), why))
            return;
    if (refusals->len >= TROUBLES_MAX)
        return;
    g_autofree char *line = rh_study_line(s->run->study, item);
    g_ptr_array_add(refusals, g_strdup_printf("%s\n    %s", line, why));
}

static bool ended(int32_t number, const RhItemOutcome *end, void *user)
{
    Sweep *s = user;
    const RhStudyItem *item = item_of(s, number);
    if (end->status == RH_SWEEP_UNWRITTEN)
        return rh_fail(s->problem ? NULL : &s->problem, RH_ERROR_IO, "%s", end->error);
    if (end->lost && !enter_loss(s, item, end))
        return false;
    if (s->costs)
        rh_item_costs_add(s->costs, number, end->seconds);
    s->outcome->busy_s += end->seconds;
    s->squares_s2 += end->seconds * end->seconds;
    s->outcome->answered += end->status == 0;
    s->outcome->no += end->status == 1;
    s->outcome->refused += end->status == 2 || end->status == 3;
    s->outcome->failed += rh_journal_is_failure(end->status);
    if (rh_journal_is_failure(end->status))
        note_trouble(s, item, end);
    else if (end->status > 1)
        note_refusal(s, item, end);
    show_progress(s);
    return true;
}

/* --- items from a coordinator --- */

static uint64_t digest_of(const RhStudy *study)
{
    uint64_t digest = 0;
    for (guint i = 0; i < study->items->len; i++) {
        char digits[17];
        g_strlcpy(digits, ((const RhStudyItem *)g_ptr_array_index(study->items, i))->key,
                  sizeof digits);
        digest = rh_mix64(digest, g_ascii_strtoull(digits, NULL, 16));
    }
    return digest;
}

static RhNextItemStatus next_of_coordinator(int32_t *item, void *user)
{
    Sweep *s = user;
    RhNextItemStatus next = rh_item_client_next(&s->client, item);
    s->outcome->count += next == RH_NEXT_ITEM;
    return next;
}

static bool ended_for_coordinator(int32_t item, const RhItemOutcome *end, void *user)
{
    const Sweep *s = user;
    return ended(item, end, user) && rh_item_client_tell(&s->client, item, end);
}

static bool is_stopped(void *user)
{
    (void)user;
    return signals_count > 0;
}

static bool ask_all(Sweep *s, GError **error)
{
    RhItemPool pool = {.jobs = s->jobs,
                       .timeout_s = s->run->study->timeout_s,
                       .perform = perform,
                       .next = next,
                       .more_fd = -1,
                       .ended = ended,
                       .waiting = show_progress,
                       .stopped = is_stopped,
                       .user = s};
    const RhJobRank *rank = &s->run->rank;
    RhCoordinator coordinator = {.socket = rank->socket, .ranks = rank->count, .digest = s->digest};
    if (rank->socket >= 0 && rank->number > 0) {
        pool.next = next_of_coordinator;
        pool.ended = ended_for_coordinator;
        pool.more_fd = rank->socket;
    }
    bool coordinates = rank->socket >= 0 && rank->number == 0;
    bool fine = coordinates ? rh_coordinator_run(&coordinator, &pool, error)
                            : rh_item_pool_run(&pool, error);
    rh_terminal_progress_end();
    if (fine && s->problem) {
        g_propagate_error(error, g_steal_pointer(&s->problem));
        return false;
    }
    g_clear_error(&s->problem);
    return fine;
}

RhSweepOutcome *rh_sweep_run(const RhSweepRun *run, GError **error)
{
    g_autoptr(RhJournals) journals = rh_journals_load(run->folder, error);
    if (!journals)
        return NULL;
    g_autoptr(RhSweepOutcome) outcome = g_new0(RhSweepOutcome, 1);
    outcome->troubles = g_ptr_array_new_with_free_func(g_free);
    outcome->refusals = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(RhJournal) journal = rh_journal_new(run->folder);
    g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(int32_t));
    int64_t jobs = run->arguments->jobs > 0 ? run->arguments->jobs : g_get_num_processors();
    Sweep s = {.run = run,
               .outcome = outcome,
               .work = {.study = run->study, .journal = journal},
               .order = order,
               .jobs = (int32_t)jobs,
               .t_start_us = g_get_monotonic_time()};
    if (run->rank.socket >= 0)
        s.digest = digest_of(run->study);
    s.client = (RhItemClient){
        .socket = run->rank.socket, .digest = s.digest, .items = (int32_t)run->study->items->len};
    g_autoptr(RhItemCosts) costs =
        run->rank.socket >= 0 && run->rank.number == 0
            ? rh_item_costs_new(run->study, rh_sweep_item_work, (void *)run->study->command)
            : NULL;
    s.costs = costs;
    bool coordinated =
        run->rank.socket >= 0 && run->rank.number > 0; /* then the coordinator knows what is left */
    if (!coordinated && !order_items(&s, journals, error))
        return NULL;
    g_clear_pointer(&journals, rh_journals_free); /* workers need none of it */
    s.jobs = (int32_t)CLAMP((int64_t)order->len, 1, jobs);
    if (run->rank.socket >= 0)
        s.jobs = coordinated ? 1 : MAX(run->rank.count - 1, 1);
    watch_signals();
    if (!ask_all(&s, error))
        return NULL;
    outcome->seconds = 1e-6 * (double)(g_get_monotonic_time() - s.t_start_us);
    outcome->stopped = signals_count > 0;
    return g_steal_pointer(&outcome);
}

int64_t rh_sweep_left(const RhSweepOutcome *outcome)
{
    return outcome->count - outcome->known - asked(outcome);
}

void rh_sweep_outcome_free(RhSweepOutcome *outcome)
{
    if (!outcome)
        return;
    g_ptr_array_unref(outcome->troubles);
    g_ptr_array_unref(outcome->refusals);
    g_free(outcome);
}
