#include "report/serve/service_kv_capacity.h"

#include "base/units.h"
#include "report/format.h"
#include "strategies/serve/server_software.h"

#define TOKENS_MAX (INT64_C(1) << 30) /* more are counted where a token takes no memory */

RhServedCacheList rh_served_caches(const RhServing *s, const RhDeployment *d,
                                   const RhService *service)
{
    RhServedCacheList caches = {.server = s->server->holds_longest ? s->server->name : NULL};
    for (int32_t p = 0; p < d->pools_count; p++) {
        const RhPool *pool = &d->pools[p];
        RhKvBudget budget = rh_service_kv_budget(service, p);
        if (!rh_model_makes_tokens(s->model) || budget.tokens >= TOKENS_MAX)
            continue;
        caches.pools[caches.count++] = (RhServedCache){
            .tokens = budget.tokens / pool->dp,
            .groups = pool->dp,
            .replicas = pool->replicas,
            .bytes = budget.cache_bytes,
            .longest = pool->max_model_len > 0 ? pool->max_model_len : s->model->positions,
            .said = pool->max_model_len > 0,
            .batch = rh_service_batch(service, p),
            .chunk = rh_service_chunk(service, p)};
    }
    return caches;
}

/* Returns the mean of tokens that a request holds at its end; 0: there are none. */
static double mean_tokens(const RhRequests *requests)
{
    double sum = 0;
    guint count = requests ? requests->list->len : 0;
    for (guint i = 0; i < count; i++) {
        const RhRequest *q = &g_array_index(requests->list, RhRequest, i);
        sum += (double)q->input_tokens + q->output_tokens;
    }
    return count > 0 ? sum / count : 0;
}

static void append_cache(GString *line, const RhServedCache *c, const char *server, double mean)
{
    g_autofree char *tokens = rh_text_count(c->tokens), *longest = rh_text_count(c->longest);
    g_string_append_printf(line, "%s tokens", tokens);
    if (c->groups > 1)
        g_string_append_printf(line, " in each of %d groups%s", c->groups,
                               c->replicas > 1 ? " of a server" : "");
    else if (c->replicas > 1)
        g_string_append(line, " per server");
    g_string_append_printf(line, " (%.1f GiB per GPU)", c->bytes / RH_GIB_BYTES);
    if (mean > 0) {
        g_autofree char *fit = rh_text_number((double)c->tokens / mean, 3),
                        *asked = rh_text_count((int64_t)(mean + 0.5));
        g_string_append_printf(line, ": room for %s requests of the mean length, %s tokens", fit,
                               asked);
    }
    if (server && c->longest > 0 && c->tokens < c->longest && !c->said)
        g_string_append_printf(line,
                               "; the longest request that the model allows has %s: %s itself "
                               "starts only with max_model_len=%" G_GINT64_FORMAT " or less",
                               longest, server, c->tokens);
}

void rh_report_caches(GString *out, const RhServedCacheList *caches, const RhRequests *requests)
{
    if (caches->count == 0)
        return;
    g_autoptr(GString) line = g_string_new(NULL);
    for (int32_t p = 0; p < caches->count; p++) {
        g_string_append(line, p > 0 ? "; for decoding " : caches->count > 1 ? "for prefill " : "");
        append_cache(line, &caches->pools[p], caches->server, mean_tokens(requests));
    }
    g_string_append(out, "KV cache: ");
    rh_text_wrap(out, line->str, 10, 79);
}

void rh_put_caches(RhJsonWriter *w, const RhServedCacheList *caches)
{
    rh_json_begin_array(w, "caches");
    for (int32_t p = 0; p < caches->count; p++) {
        const RhServedCache *c = &caches->pools[p];
        rh_json_begin_object(w, NULL);
        rh_json_put_int(w, "tokens_count", c->tokens);
        rh_json_put_int(w, "groups_count", c->groups);
        rh_json_put_number(w, "gpu_bytes", c->bytes);
        rh_json_put_int(w, "longest_tokens_count", c->longest);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}
