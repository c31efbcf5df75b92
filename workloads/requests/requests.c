#include "workloads/requests/requests.h"

RhRequests *rh_requests_new(const char *format)
{
    RhRequests *requests = g_new0(RhRequests, 1);
    requests->list = g_array_new(FALSE, TRUE, sizeof(RhRequest));
    requests->blocks = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    requests->format = format;
    return requests;
}

void rh_requests_free(RhRequests *requests)
{
    if (!requests)
        return;
    g_array_unref(requests->list);
    g_array_unref(requests->blocks);
    g_free(requests->skipped_first);
    g_free(requests);
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    double x = ((const RhRequest *)a)->t_s, y = ((const RhRequest *)b)->t_s;
    return (x > y) - (x < y);
}

static bool is_sorted(const GArray *list)
{
    for (guint i = 1; i < list->len; i++)
        if (g_array_index(list, RhRequest, i - 1).t_s > g_array_index(list, RhRequest, i).t_s)
            return false;
    return true;
}

void rh_requests_settle(RhRequests *requests)
{
    GArray *list = requests->list;
    if (!is_sorted(list))
        g_array_sort(list, by_time); /* stable, as GLib promises */
    double first_s = list->len ? g_array_index(list, RhRequest, 0).t_s : 0;
    g_autoptr(GHashTable) turns = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < list->len; i++) {
        RhRequest *q = &g_array_index(list, RhRequest, i);
        q->t_s -= first_s;
        if (q->session < 0)
            continue;
        gpointer key = GINT_TO_POINTER(q->session);
        q->turn = GPOINTER_TO_INT(g_hash_table_lookup(turns, key));
        g_hash_table_insert(turns, key, GINT_TO_POINTER(q->turn + 1));
    }
}

double rh_requests_rate_per_s(const RhRequests *requests)
{
    const GArray *list = requests->list;
    double last_s = list->len ? g_array_index(list, RhRequest, list->len - 1).t_s : 0;
    return last_s > 0 ? (list->len - 1) / last_s : 0;
}

void rh_requests_at_rate(RhRequests *requests, double rate_per_s)
{
    double stretch = rh_requests_rate_per_s(requests) / rate_per_s;
    for (guint i = 0; i < requests->list->len; i++)
        g_array_index(requests->list, RhRequest, i).t_s *= stretch;
}

void rh_requests_head(RhRequests *requests, int64_t count)
{
    if (count < requests->list->len)
        g_array_set_size(requests->list, (guint)count);
}

char *rh_requests_hash(const RhRequests *requests)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (guint i = 0; i < requests->list->len; i++) {
        const RhRequest *q = &g_array_index(requests->list, RhRequest, i);
        int32_t numbers[] = {q->input_tokens, q->output_tokens, q->session, q->priority,
                             q->blocks_count};
        g_checksum_update(sum, (const guchar *)&q->t_s, sizeof q->t_s);
        g_checksum_update(sum, (const guchar *)numbers, sizeof numbers);
    }
    g_checksum_update(sum, (const guchar *)requests->blocks->data,
                      (gssize)(requests->blocks->len * sizeof(uint64_t)));
    return g_strdup(g_checksum_get_string(sum));
}
