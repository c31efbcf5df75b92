#include "validate/exchanges.h"

#include <string.h>

#include "strategies/exchanger.h"
#include "validate/cases_way.h"

/* Of DeepSeek-V3, for which all of these kernels were made; rows that say nothing mean it. */
#define HIDDEN  7168
#define CHOSEN  8
#define EXPERTS 256

#define WIDE   2.0
#define SCALED (1 + 4.0 / 128) /* fp8 with a scale of 4 bytes for 128 */

typedef struct {
    RhCaseWay way;
    GHashTable *platforms;
    const RhExchanger *exchanger;
    const RhPlatform *platform;
    RhExchangeLoad load;
    bool combine;
} Case;

static int64_t given(const RhCaseRow *row, RhCaseColumn column, int64_t otherwise)
{
    return row->whole[column] > 0 ? row->whole[column] : otherwise;
}

static bool say_platform(Case *c)
{
    const char *name = rh_case_says(&c->way, RH_CASE_SAYS_PLATFORM);
    GError *local = NULL;
    if (!name)
        return rh_case_give_up(&c->way, "gpu %s: not in the catalogue",
                               rh_case_cell(&c->way, RH_CASE_GPU));
    RhPlatform *p = g_hash_table_lookup(c->platforms, name);
    if (!p) {
        p = rh_platform_load(name, &local);
        if (!p)
            return rh_case_give_up_with(&c->way, "platform: ", local);
        g_hash_table_insert(c->platforms, (void *)name, p);
    }
    c->platform = p;
    return true;
}

/* An all-to-all of a library sends room for all tokens to every expert: told by its times, which are those of so
 * many bytes. */
static void say_load(Case *c)
{
    const RhCaseRow *row = c->way.row;
    const char *dtype = row->text[RH_CASE_DTYPE],
               *groups = rh_case_says(&c->way, RH_CASE_SAYS_GROUPS);
    bool whole = strcmp(row->text[RH_CASE_OP], "all-to-all") == 0;
    bool wide = strcmp(dtype, "BF16") == 0 || (!*dtype && c->combine);
    int32_t experts = (int32_t)given(row, RH_CASE_EXPERTS, EXPERTS),
            chosen = whole ? experts : (int32_t)given(row, RH_CASE_TOPK, CHOSEN);
    c->load = (RhExchangeLoad){
        .ranks = (int32_t)row->whole[RH_CASE_EP],
        .tokens = (double)row->whole[RH_CASE_TOKENS],
        .token_bytes = (double)given(row, RH_CASE_HIDDEN, HIDDEN) * (wide    ? WIDE
                                                                     : whole ? 1
                                                                             : SCALED),
        .routing = {.experts = experts, .chosen = chosen, .groups = 1, .groups_chosen = 1}};
    if (groups) {
        c->load.routing.groups_chosen = (int32_t)g_ascii_strtoll(groups, NULL, 10);
        c->load.routing.groups = (int32_t)g_ascii_strtoll(strchr(groups, '/') + 1, NULL, 10);
    }
}

static bool translate(Case *c)
{
    const char *name = rh_case_says(&c->way, RH_CASE_SAYS_EXCHANGER);
    const RhCaseRow *row = c->way.row;
    c->exchanger = name ? rh_exchanger_by_name(name, NULL) : NULL;
    if (!c->exchanger)
        return rh_case_give_up(&c->way, "no kernels are known for %s %s",
                               row->text[RH_CASE_LIBRARY], row->text[RH_CASE_MODE]);
    if (row->exchange_s <= 0 && row->exchange_bytes_per_s <= 0)
        return rh_case_give_up(&c->way, "nothing was measured");
    if (row->whole[RH_CASE_EP] < 2 || row->whole[RH_CASE_TOKENS] < 1)
        return rh_case_give_up(&c->way, "ep or tokens_per_gpu is not given");
    c->combine = strcmp(row->text[RH_CASE_OP], "combine") == 0;
    if (!say_platform(c))
        return false;
    say_load(c);
    return true;
}

/* Rates count what a token's copies are together, those that stay where they are included: copies to nodes where
 * the NIC is counted, to ranks where NVLink is. */
static double counted_bytes(const Case *c)
{
    bool nodes = strncmp(c->way.row->text[RH_CASE_BANDWIDTH_KIND], "RDMA", 4) == 0;
    int32_t parts = nodes ? MAX(c->load.ranks / c->platform->gpus_per_node, 1) : c->load.ranks;
    return c->load.tokens * c->load.token_bytes * rh_exchange_copies(&c->load, parts);
}

static void predict(const Case *c, RhJudgedRow *r)
{
    double s =
        rh_exchanger_s(c->exchanger, c->combine ? &c->exchanger->combine : &c->exchanger->dispatch,
                       c->platform, &c->load);
    r->predicted_s = c->way.row->exchange_s > 0 ? s : counted_bytes(c) / s;
    r->stack = c->exchanger->name;
    r->family = "exchange";
    r->strategy = g_intern_string(c->way.row->text[RH_CASE_MODE]);
}

static RhJudgedRow judged_row(const RhCaseRow *row, const Case *c)
{
    bool timed = row->exchange_s > 0;
    return (RhJudgedRow){.id = g_strdup_printf("%s:%d", row->file, row->line),
                         .line = row->line,
                         .metric = timed ? "exchange" : "exchange_rate",
                         .source = g_intern_string(row->text[RH_CASE_SOURCE]),
                         .table = g_intern_string(row->text[RH_CASE_LIBRARY]),
                         .model = g_intern_string(row->text[RH_CASE_OP]),
                         .device = g_intern_string(row->text[RH_CASE_GPU]),
                         .standing = rh_case_standing(&c->way),
                         .fitted = rh_case_says(&c->way, RH_CASE_SAYS_FITTED) != NULL,
                         .measured_s = timed ? row->exchange_s : row->exchange_bytes_per_s};
}

RhJudged *rh_exchanges_judge(const RhCaseTable *table, const RhCasesOptions *options,
                             GError **error)
{
    g_autoptr(RhCaseFacts) facts = rh_case_facts_load(true, error);
    if (!facts)
        return NULL;
    g_autoptr(GHashTable) platforms =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)rh_platform_free);
    RhJudged *judged = rh_judged_new(table->name);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (!rh_case_wanted(row, options->only))
            continue;
        RhCaseSaid said = rh_case_facts_say(facts, row);
        Case c = {.way = {row, &said, NULL}, .platforms = platforms};
        bool fine = translate(&c);
        RhJudgedRow r = judged_row(row, &c);
        r.skipped = c.way.why;
        if (fine)
            predict(&c, &r);
        g_array_append_val(judged->rows, r);
        rh_case_said_clear(&said);
    }
    return judged;
}
