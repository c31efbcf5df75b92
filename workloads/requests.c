#include "workloads/requests.h"

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
