/* GOAL as LogGOPSim reads it (Hoefler, Siebert, Lumsdaine 2009); what sim/program_goal.c writes:
 *
 *   num_ranks 2
 *   rank 0 {
 *   l1: calc 1200              nanoseconds, of processor 0; "cpu 1" of another
 *   l2: send 1000b to 1 tag 7  "cpu" and "nic" are read over
 *   l2 requires l1             l2 begins when l1 has ended
 *   l3 irequires l2            l3 begins when l2 has begun
 *   }
 *
 * Labels may be left out of what nobody waits for. Comments are C's. */
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "sim/import/imported_trace.h"

#define RANKS_MAX (1 << 16)
#define OPS_MAX   (1 << 26)
/* Size beyond which messages wait for their receive: LogGOPSim's S (LogGOPS_S in simulator.ggo). */
#define EAGER_BYTES 65535
#define NS_MAX      (INT64_C(1000000000) * 1000000000)

typedef struct {
    const char *start;
    int32_t length, line, column;
} Word;

/* A wait whose labels are resolved later, as they may be defined after it. */
typedef struct {
    Word op, on;
    bool begins;
} Pending;

typedef struct {
    const char *name, *at, *line_start;
    int32_t line;
    Word word; /* the next word; length 0 at the end */
    RhImportedTrace *f;
    int32_t rank;
    GHashTable *labels; /* of this rank: owned text -> op + 1 */
    GArray *pending;
} Goal;

static bool fail_at(const Goal *g, const Word *w, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: %s, \"%.*s\" given", g->name, w->line,
                   w->column, what, MIN(w->length, 40), w->start);
}

/* --- words: end at white space; '{', '}' and a text that ends in ':' are words of their own --- */

static void skip_comment(Goal *g)
{
    bool block = g->at[1] == '*';
    const char *end = strstr(g->at + 2, block ? "*/" : "\n");
    end = end ? end + (block ? 2 : 0) : g->at + strlen(g->at);
    for (; g->at < end; g->at++)
        if (*g->at == '\n') {
            g->line++;
            g->line_start = g->at + 1;
        }
}

static void skip_space(Goal *g)
{
    while (*g->at) {
        if (*g->at == '\n') {
            g->line++;
            g->line_start = g->at + 1;
        }
        if (g_ascii_isspace(*g->at))
            g->at++;
        else if (g->at[0] == '/' && (g->at[1] == '/' || g->at[1] == '*'))
            skip_comment(g);
        else
            return;
    }
}

static Word next_word(Goal *g)
{
    Word read = g->word;
    skip_space(g);
    g->word = (Word){g->at, 0, g->line, (int32_t)(g->at - g->line_start) + 1};
    if (*g->at == '{' || *g->at == '}') {
        g->at++;
    } else {
        g->at += strcspn(g->at, " \t\r\n\v\f{}:");
        g->at += *g->at == ':';
    }
    g->word.length = (int32_t)(g->at - g->word.start);
    return read;
}

static bool is(const Word *w, const char *text)
{
    return (size_t)w->length == strlen(text) && strncmp(w->start, text, strlen(text)) == 0;
}

static bool accept_word(Goal *g, const char *text)
{
    if (!is(&g->word, text))
        return false;
    next_word(g);
    return true;
}

static bool expect_word(Goal *g, const char *text, GError **error)
{
    if (accept_word(g, text))
        return true;
    g_autofree char *what = g_strdup_printf("\"%s\" must stand here", text);
    return fail_at(g, &g->word, what, error);
}

/* Reads a whole number in [low, high], with `unit` behind it or none ("10b"). */
static bool read_number(Goal *g, const char *unit, int64_t low, int64_t high, int64_t *value,
                        GError **error)
{
    Word w = next_word(g);
    g_autofree char *text = g_strndup(w.start, (gsize)w.length);
    if (*unit && g_str_has_suffix(text, unit))
        text[w.length - (int32_t)strlen(unit)] = 0;
    guint64 number;
    if (low >= 0 && g_ascii_string_to_unsigned(text, 10, 0, (guint64)high, &number, NULL) &&
        (int64_t)number >= low) {
        *value = (int64_t)number;
        return true;
    }
    g_autofree char *what = g_strdup_printf("a whole number from %" G_GINT64_FORMAT
                                            " to %" G_GINT64_FORMAT "%s%s must stand here",
                                            low, high, *unit ? " with its unit, " : "", unit);
    return fail_at(g, &w, what, error);
}

/* --- operations --- */

static bool read_calc(Goal *g, RhImportedOp *o, GError **error)
{
    int64_t ns = 0, cpu = 0;
    if (!read_number(g, "", 0, NS_MAX, &ns, error) ||
        (accept_word(g, "cpu") && !read_number(g, "", 0, RH_STREAMS_MAX / 2, &cpu, error)))
        return false;
    o->seconds = (double)ns * 1e-9;
    o->processor = (int32_t)cpu;
    o->kind = ns == 0 ? RH_IMPORTED_NOTHING : cpu > 0 ? RH_IMPORTED_HOST : RH_IMPORTED_COMPUTE;
    o->name = "calc";
    return true;
}

static bool read_message(Goal *g, bool sends, RhImportedOp *o, GError **error)
{
    int64_t bytes = 0, peer = 0, unused = 0;
    if (!read_number(g, "b", 0, NS_MAX, &bytes, error) ||
        !expect_word(g, sends ? "to" : "from", error) ||
        !read_number(g, "", 0, RANKS_MAX - 1, &peer, error))
        return false;
    for (;;) {
        bool tag = accept_word(g, "tag");
        if (!tag && !accept_word(g, "cpu") && !accept_word(g, "nic"))
            break;
        if (!read_number(g, "", 0, NS_MAX, tag ? &o->tag : &unused, error))
            return false;
    }
    o->kind = sends ? RH_IMPORTED_SEND : RH_IMPORTED_RECV;
    o->bytes = (double)bytes;
    o->peer = (int32_t)peer;
    o->name = sends ? "send" : "recv";
    return true;
}

static bool add_op(Goal *g, const Word *label, GError **error)
{
    RhImportedOp o = {
        .rank = g->rank, .mate = -1, .place = {.line = g->word.line, .column = g->word.column}};
    bool calc = accept_word(g, "calc"), sends = !calc && accept_word(g, "send");
    if (!calc && !sends && !accept_word(g, "recv"))
        return fail_at(g, &g->word, "calc, send, recv or } must stand here", error);
    if (calc ? !read_calc(g, &o, error) : !read_message(g, sends, &o, error))
        return false;
    if (g->f->ops->len >= OPS_MAX)
        return fail_at(g, &g->word, "there are too many operations", error);
    o.name = rh_intern(o.name);
    g_array_append_val(g->f->ops, o);
    if (!label)
        return true;
    char *text = g_strndup(label->start, (gsize)label->length - 1);
    if (g_hash_table_insert(g->labels, text, GINT_TO_POINTER((gint)g->f->ops->len)))
        return true;
    return fail_at(g, label, "this label stands twice in its rank", error);
}

/* Reads "LABEL: operation", "LABEL requires LABEL", or an operation without a label. */
static bool read_statement(Goal *g, GError **error)
{
    if (is(&g->word, "calc") || is(&g->word, "send") || is(&g->word, "recv"))
        return add_op(g, NULL, error);
    Word w = next_word(g);
    if (w.length > 1 && w.start[w.length - 1] == ':')
        return add_op(g, &w, error);
    bool begins = is(&g->word, "irequires");
    if (!begins && !is(&g->word, "requires"))
        return fail_at(g, &w, "calc, send, recv, \"LABEL requires LABEL\" or } must stand here",
                       error);
    next_word(g);
    Pending p = {w, next_word(g), begins};
    g_array_append_val(g->pending, p);
    return true;
}

static bool find_label(const Goal *g, const Word *w, int32_t *op, GError **error)
{
    g_autofree char *text = g_strndup(w->start, (gsize)w->length);
    *op = GPOINTER_TO_INT(g_hash_table_lookup(g->labels, text)) - 1;
    return *op >= 0 || fail_at(g, w, "a label of this rank must stand here", error);
}

static bool resolve_labels(Goal *g, GError **error)
{
    for (guint i = 0; i < g->pending->len; i++) {
        const Pending *p = &g_array_index(g->pending, Pending, i);
        RhImportedWait wait = {.begins = p->begins};
        if (!find_label(g, &p->op, &wait.op, error) || !find_label(g, &p->on, &wait.on, error))
            return false;
        if (wait.op == wait.on)
            return fail_at(g, &p->on, "another label must stand here", error);
        g_array_append_val(g->f->waits, wait);
    }
    return true;
}

static bool read_rank(Goal *g, bool *seen, GError **error)
{
    int64_t rank = 0;
    Word at;
    if (!expect_word(g, "rank", error))
        return false;
    at = g->word;
    if (!read_number(g, "", 0, g->f->ranks_count - 1, &rank, error))
        return false;
    if (seen[rank])
        return fail_at(g, &at, "this rank stands here twice", error);
    seen[rank] = true;
    g->rank = (int32_t)rank;
    g_hash_table_remove_all(g->labels);
    g_array_set_size(g->pending, 0);
    if (!expect_word(g, "{", error))
        return false;
    while (!is(&g->word, "}"))
        if (g->word.length == 0 ? !expect_word(g, "}", error) : !read_statement(g, error))
            return false;
    next_word(g);
    return resolve_labels(g, error);
}

static bool all_seen(const Goal *g, const bool *seen, GError **error)
{
    for (int32_t r = 0; r < g->f->ranks_count; r++)
        if (!seen[r])
            return rh_fail(
                error, RH_ERROR_INPUT,
                "%s: rank %d is missing: num_ranks says %d\nhelp: a rank without work is "
                "\"rank %d { }\"",
                g->name, r, g->f->ranks_count, r);
    return true;
}

static int by_rank(const void *left, const void *right)
{
    const RhImportedOp *a = left, *b = right;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                              : (a->id > b->id) - (a->id < b->id);
}

/* Sorts operations by rank, as blocks may stand in any order in the file. */
static void sort_ranks(RhImportedTrace *f)
{
    int32_t count = (int32_t)f->ops->len;
    g_autofree int32_t *now = g_new(int32_t, count + 1);
    for (int32_t i = 0; i < count; i++)
        rh_imported_trace_op(f, i)->id = (uint64_t)i;
    g_array_sort(f->ops, by_rank);
    for (int32_t i = 0; i < count; i++)
        now[rh_imported_trace_op(f, i)->id] = i;
    for (guint i = 0; i < f->waits->len; i++) {
        RhImportedWait *wait = &g_array_index(f->waits, RhImportedWait, i);
        wait->op = now[wait->op];
        wait->on = now[wait->on];
    }
}

static bool read_file(Goal *g, GError **error)
{
    int64_t ranks = 0;
    next_word(g);
    if (!expect_word(g, "num_ranks", error) || !read_number(g, "", 1, RANKS_MAX, &ranks, error))
        return false;
    g->f->ranks_count = (int32_t)ranks;
    g_autofree bool *seen = g_new0(bool, ranks);
    while (g->word.length > 0)
        if (!read_rank(g, seen, error))
            return false;
    return all_seen(g, seen, error);
}

RhImportedTrace *rh_goal_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(RhImportedTrace) f = rh_imported_trace_new("GOAL", EAGER_BYTES);
    Goal g = {.name = name, .at = text, .line_start = text, .line = 1, .f = f};
    g_ptr_array_add(f->files, g_strdup(name));
    g.labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g.pending = g_array_new(FALSE, FALSE, sizeof(Pending));
    bool read = read_file(&g, error);
    g_hash_table_unref(g.labels);
    g_array_unref(g.pending);
    if (!read)
        return NULL;
    sort_ranks(f);
    return g_steal_pointer(&f);
}
