#include "sim/import/imported_trace.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "sim/map64.h"

RhImportedTrace *rh_imported_trace_new(const char *format, double eager_bytes)
{
    RhImportedTrace *f = g_new0(RhImportedTrace, 1);
    f->format = g_strdup(format);
    f->eager_bytes = eager_bytes;
    f->ops = g_array_new(FALSE, FALSE, sizeof(RhImportedOp));
    f->waits = g_array_new(FALSE, FALSE, sizeof(RhImportedWait));
    f->teams = g_ptr_array_new();
    f->files = g_ptr_array_new_with_free_func(g_free);
    f->docs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_json_free);
    return f;
}

void rh_imported_trace_free(RhImportedTrace *f)
{
    if (!f)
        return;
    g_array_unref(f->ops);
    g_array_unref(f->waits);
    g_ptr_array_unref(f->teams);
    g_ptr_array_unref(f->files);
    g_ptr_array_unref(f->docs);
    void *blocks[] = {f->format, f->first, f->hash, f};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
}

int32_t rh_imported_trace_team(RhImportedTrace *f, const char *name)
{
    const char *text = rh_intern(name);
    for (guint i = 0; i < f->teams->len; i++)
        if (f->teams->pdata[i] == text)
            return (int32_t)i;
    g_ptr_array_add(f->teams, (char *)text);
    return (int32_t)f->teams->len - 1;
}

/* --- words --- */

#define NAME_MAX_CHARS 40

/* Shortens the name of a kernel. */
static char *short_name(const char *name)
{
    if (g_utf8_strlen(name, -1) <= NAME_MAX_CHARS)
        return g_strdup(name);
    g_autofree char *start = g_utf8_substring(name, 0, NAME_MAX_CHARS - 3);
    return g_strconcat(start, "...", NULL);
}

char *rh_imported_trace_name(const RhImportedTrace *f, int32_t op)
{
    const RhImportedOp *o = rh_imported_trace_op(f, op);
    bool text = o->place.line > 0;
    g_autofree char *plain = short_name(o->name);
    if (text)
        return g_strdup_printf("rank %d, \"%s\" of line %d", o->rank, plain, o->place.line);
    return g_strdup_printf("rank %d, node %" G_GUINT64_FORMAT " \"%s\"", o->rank, o->id, plain);
}

bool rh_imported_trace_fail(const RhImportedTrace *f, int32_t op, const char *help, GError **error,
                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const RhImportedOp *o = rh_imported_trace_op(f, op);
    guint file = MIN((guint)o->rank, f->files->len - 1);
    const char *name = f->files->pdata[file];
    if (o->place.node) {
        RhJson *doc = f->docs->pdata[MIN(file, f->docs->len - 1)];
        rh_json_problem(doc, o->place.node, help, "%s", what);
        return rh_json_finish(doc, error);
    }
    g_autofree char *mend = help ? g_strdup_printf("\nhelp: %s", help) : g_strdup("");
    if (o->place.line > 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: %s%s", name, o->place.line,
                       o->place.column, what, mend);
    return rh_fail(error, RH_ERROR_INPUT, "%s: byte %" G_GINT64_FORMAT ": %s%s", name,
                   o->place.offset, what, mend);
}

/* --- sorting --- */

/* Sorts waits by operation, keeping the order in which they were added. */
static void sort_waits(RhImportedTrace *f)
{
    g_autoptr(GArray) old = f->waits;
    f->waits = g_array_sized_new(FALSE, TRUE, sizeof(RhImportedWait), old->len);
    g_array_set_size(f->waits, old->len);
    for (guint i = 0; i < old->len; i++)
        rh_imported_trace_op(f, g_array_index(old, RhImportedWait, i).op)->waits_count++;
    int32_t at = 0;
    for (guint i = 0; i < f->ops->len; i++) {
        RhImportedOp *o = rh_imported_trace_op(f, (int32_t)i);
        o->waits_first = at;
        at += o->waits_count;
        o->waits_count = 0;
    }
    for (guint i = 0; i < old->len; i++) {
        RhImportedWait wait = g_array_index(old, RhImportedWait, i);
        RhImportedOp *o = rh_imported_trace_op(f, wait.op);
        g_array_index(f->waits, RhImportedWait, o->waits_first + o->waits_count++) = wait;
    }
}

static void find_ranks(RhImportedTrace *f)
{
    f->first = g_new0(int32_t, f->ranks_count + 1);
    for (guint i = 0; i < f->ops->len; i++)
        f->first[rh_imported_trace_op(f, (int32_t)i)->rank + 1]++;
    for (int32_t r = 0; r < f->ranks_count; r++)
        f->first[r + 1] += f->first[r];
}

/* --- messages --- */

static uint64_t channel_of(const RhImportedOp *o)
{
    bool sends = o->kind == RH_IMPORTED_SEND;
    int32_t src = sends ? o->rank : o->peer, dst = sends ? o->peer : o->rank;
    return rh_mix64(((uint64_t)(uint32_t)src << 32 | (uint32_t)dst) + 11, (uint64_t)o->tag);
}

static bool same_channel(const RhImportedOp *a, const RhImportedOp *b)
{
    return a->kind != b->kind && a->rank == b->peer && a->peer == b->rank && a->tag == b->tag;
}

static bool is_message(const RhImportedOp *o)
{
    return o->kind == RH_IMPORTED_SEND || o->kind == RH_IMPORTED_RECV;
}

static bool check_peer(const RhImportedTrace *f, int32_t i, GError **error)
{
    const RhImportedOp *o = rh_imported_trace_op(f, i);
    if (o->peer == o->rank)
        return rh_imported_trace_fail(f, i, NULL, error, "rank %d sends to itself", o->rank);
    if (o->peer >= 0 && o->peer < f->ranks_count)
        return true;
    return rh_imported_trace_fail(f, i, "every rank has a trace: PREFIX.0, PREFIX.1 and so on",
                                  error, "this talks to rank %d, and there are ranks 0 to %d",
                                  o->peer, f->ranks_count - 1);
}

static bool join_ends(RhImportedTrace *f, int32_t send, int32_t recv, GError **error)
{
    RhImportedOp *s = rh_imported_trace_op(f, send), *r = rh_imported_trace_op(f, recv);
    if (!same_channel(s, r))
        return rh_imported_trace_fail(f, send, NULL, error, "too many messages to tell them apart");
    if (r->bytes < s->bytes) {
        g_autofree char *name = rh_imported_trace_name(f, send);
        return rh_imported_trace_fail(f, recv, NULL, error,
                                      "a receive of %.0f bytes, %.0f are sent by %s", r->bytes,
                                      s->bytes, name);
    }
    r->bytes = s->bytes;
    s->mate = recv;
    r->mate = send;
    return true;
}

/* Matches messages: sends are listed by channel, and each receive takes the first one left. */
static bool match_messages(RhImportedTrace *f, GError **error)
{
    int32_t count = (int32_t)f->ops->len;
    g_autoptr(RhMap64) heads = rh_map64_new(), tails = rh_map64_new();
    g_autofree int32_t *next = g_new(int32_t, count + 1);
    for (int32_t i = 0; i < count; i++) {
        RhImportedOp *o = rh_imported_trace_op(f, i);
        if (is_message(o) && !check_peer(f, i, error))
            return false;
        next[i] = -1;
        if (o->kind != RH_IMPORTED_SEND)
            continue;
        int32_t *tail = rh_map64_at(tails, channel_of(o), -1);
        if (*tail >= 0)
            next[*tail] = i;
        else
            *rh_map64_at(heads, channel_of(o), i) = i;
        *tail = i;
    }
    for (int32_t i = 0; i < count; i++) {
        if (rh_imported_trace_op(f, i)->kind != RH_IMPORTED_RECV)
            continue;
        int32_t *head = rh_map64_at(heads, channel_of(rh_imported_trace_op(f, i)), -1),
                send = *head;
        if (send < 0)
            return rh_imported_trace_fail(f, i, NULL, error,
                                          "a receive that rank %d does not send to",
                                          rh_imported_trace_op(f, i)->peer);
        *head = next[send];
        if (!join_ends(f, send, i, error))
            return false;
    }
    for (int32_t i = 0; i < count; i++)
        if (rh_imported_trace_op(f, i)->kind == RH_IMPORTED_SEND &&
            rh_imported_trace_op(f, i)->mate < 0)
            return rh_imported_trace_fail(f, i, NULL, error, "a send that rank %d does not receive",
                                          rh_imported_trace_op(f, i)->peer);
    return true;
}

/* --- calls of groups --- */

static void count_calls(RhImportedTrace *f)
{
    g_autofree int32_t *calls = g_new0(int32_t, f->teams->len + 1);
    for (int32_t r = 0; r < f->ranks_count; r++) {
        memset(calls, 0, f->teams->len * sizeof(int32_t));
        for (int32_t i = f->first[r]; i < f->first[r + 1]; i++)
            if (rh_imported_trace_op(f, i)->kind == RH_IMPORTED_COLLECTIVE)
                rh_imported_trace_op(f, i)->call = calls[rh_imported_trace_op(f, i)->team]++;
    }
}

/* Do all members of a group make the same calls of it, number by number? */
static bool check_calls(const RhImportedTrace *f, GError **error)
{
    g_autoptr(RhMap64) known = rh_map64_new();
    for (guint i = 0; i < f->ops->len; i++) {
        const RhImportedOp *o = rh_imported_trace_op(f, (int32_t)i);
        if (o->kind != RH_IMPORTED_COLLECTIVE)
            continue;
        uint64_t key = ((uint64_t)(uint32_t)o->team << 32 | (uint32_t)o->call) + 1;
        int32_t first = *rh_map64_at(known, key, (int32_t)i);
        const RhImportedOp *other = rh_imported_trace_op(f, first);
        g_autofree char *name = rh_imported_trace_name(f, first);
        if (other->op != o->op || other->bytes != o->bytes)
            return rh_imported_trace_fail(
                f, (int32_t)i, NULL, error,
                "call %d of group \"%s\" is %s of %.0f bytes here, %s of %.0f in %s", o->call + 1,
                (const char *)f->teams->pdata[o->team], rh_op_name((RhOp)o->op), o->bytes,
                rh_op_name((RhOp)other->op), other->bytes, name);
    }
    return true;
}

static bool check_team(const RhImportedTrace *f, int32_t team, GError **error)
{
    const char *name = f->teams->pdata[team];
    int32_t most = 0, busiest = 0;
    g_autofree int32_t *calls = g_new0(int32_t, f->ranks_count + 1);
    for (guint i = 0; i < f->ops->len; i++) {
        const RhImportedOp *o = rh_imported_trace_op(f, (int32_t)i);
        if (o->kind == RH_IMPORTED_COLLECTIVE && o->team == team && ++calls[o->rank] > most) {
            most = calls[o->rank];
            busiest = (int32_t)i;
        }
    }
    for (int32_t r = 0; r < f->ranks_count; r++)
        if (calls[r] < most && (calls[r] > 0 || !*name))
            return rh_imported_trace_fail(f, busiest, NULL, error,
                                          "rank %d calls %s%s%s %d times, rank %d %d times", r,
                                          *name ? "group \"" : "all ranks", name, *name ? "\"" : "",
                                          calls[r], rh_imported_trace_op(f, busiest)->rank, most);
    return true;
}

bool rh_imported_trace_close(RhImportedTrace *f, GError **error)
{
    sort_waits(f);
    find_ranks(f);
    count_calls(f);
    for (guint t = 0; t < f->teams->len; t++)
        if (!check_team(f, (int32_t)t, error))
            return false;
    return check_calls(f, error) && match_messages(f, error);
}
