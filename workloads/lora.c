#include "workloads/lora.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"

#define RANK_MAX 65536

#define LINEAR_NAME(constant, bit, name) [bit] = (name),
static const char *const names[] = {RH_LINEARS(LINEAR_NAME) NULL};

bool rh_lora_adapts(const RhLora *lora, RhLinearName linear)
{
    uint32_t modules = lora->modules == 0 ? RH_LINEAR_ALL : lora->modules;
    return lora->rank > 0 && (modules & (uint32_t)linear) != 0;
}

static bool fail_module(const char *word, GError **error)
{
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    return rh_fail(error, RH_ERROR_USAGE,
                   "lora.modules: \"%s\" is not a linear layer\nnote: a sum, as in "
                   "linear_qkv+linear_proj, of %s, each once",
                   word, all);
}

bool rh_lora_parse_modules(const char *text, RhLora *lora, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, "+", -1);
    uint32_t modules = 0;
    for (char **word = words; *word; word++) {
        uint32_t bit = 0;
        while (names[bit] && strcmp(names[bit], *word) != 0)
            bit++;
        if (!names[bit] || (modules >> bit & 1))
            return fail_module(*word, error);
        modules |= 1u << bit;
    }
    if (modules == 0)
        return fail_module(text, error);
    *lora = (RhLora){lora->rank > 0 ? lora->rank : RH_LORA_RANK, modules};
    return true;
}

bool rh_lora_parse(const char *text, RhLora *lora, GError **error)
{
    const char *colon = strchr(text, ':');
    g_autofree char *rank = colon ? g_strndup(text, (gsize)(colon - text)) : g_strdup(text);
    RhLora read = *lora;
    int64_t number = 0;
    GError *local = NULL;
    if (!rh_integer_parse(rank, 0, RANK_MAX, &number, &local)) {
        local->code = RH_ERROR_USAGE;
        g_propagate_prefixed_error(error, local, "lora.rank: ");
        return false;
    }
    read.rank = (int32_t)number;
    if (colon && !rh_lora_parse_modules(colon + 1, &read, error))
        return false;
    *lora = read;
    return true;
}
