#include "validate/serving/a2a_case.h"

#include <string.h>

/* Sizes of DeepSeek-V3, for which all these kernels were made: defaults of rows. */
#define HIDDEN  7168
#define CHOSEN  8
#define EXPERTS 256

#define WIDE   2.0
#define SCALED (1 + 4.0 / 128) /* fp8 with a scale of 4 bytes for 128 */

static int64_t given(const RhCaseRow *row, RhCaseColumn column, int64_t otherwise)
{
    return row->whole[column] > 0 ? row->whole[column] : otherwise;
}

static bool say_platform(RhExchangeCase *c)
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

/* Sets the load. A library's all-to-all sends space for all tokens to every expert, as its times
 * show, which are those of so many bytes. */
static void say_load(RhExchangeCase *c)
{
    const RhCaseRow *row = c->way.row;
    const char *dtype = row->text[RH_CASE_DTYPE],
               *groups = rh_case_says(&c->way, RH_CASE_SAYS_GROUPS);
    bool whole = strcmp(row->text[RH_CASE_OP], "all-to-all") == 0;
    bool wide = strcmp(dtype, "BF16") == 0 || (!*dtype && c->combine);
    int32_t experts = (int32_t)given(row, RH_CASE_EXPERTS, EXPERTS),
            chosen = whole ? experts : (int32_t)given(row, RH_CASE_TOPK, CHOSEN);
    c->load = (RhA2aLoad){
        .ranks = (int32_t)row->whole[RH_CASE_EP],
        .tokens = (double)row->whole[RH_CASE_TOKENS],
        .sms_count = (int32_t)row->whole[RH_CASE_SMS],
        .token_bytes = (double)given(row, RH_CASE_HIDDEN, HIDDEN) * (wide    ? WIDE
                                                                     : whole ? 1
                                                                             : SCALED),
        .routing = {.experts = experts, .chosen = chosen, .groups = 1, .groups_chosen = 1}};
    if (groups) {
        c->load.routing.groups_chosen = (int32_t)g_ascii_strtoll(groups, NULL, 10);
        c->load.routing.groups = (int32_t)g_ascii_strtoll(strchr(groups, '/') + 1, NULL, 10);
    }
}

bool rh_exchange_case_translate(RhExchangeCase *c)
{
    const char *name = rh_case_says(&c->way, RH_CASE_SAYS_A2A_BACKEND);
    const RhCaseRow *row = c->way.row;
    c->backend = name ? rh_a2a_backend_by_name(name, NULL) : NULL;
    if (rh_case_says(&c->way, RH_CASE_SAYS_SKIP))
        return rh_case_give_up(&c->way, "%s", rh_case_says(&c->way, RH_CASE_SAYS_SKIP));
    if (!c->backend)
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

GHashTable *rh_exchange_platforms_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)rh_platform_free);
}
