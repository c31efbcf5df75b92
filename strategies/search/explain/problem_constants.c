#include "strategies/search/explain/problem_constants.h"

#include <string.h>

#include "platforms/devices/power.h"
#include "platforms/platform_constants.h"
#include "strategies/software_stack_file.h"

#define STACK_PREFIX    "stack."
#define PLATFORM_PREFIX "platform."

void rh_changed_problem_clear(RhChangedProblem *changed)
{
    rh_platform_free(changed->hardware);
    rh_platform_free(changed->seen);
}

bool rh_problem_change(const RhProblem *c, const RhPlatform *hardware, const RhConstant *constant,
                       double value, RhChangedProblem *out)
{
    const char *set = constant->set;
    g_autofree char *text = rh_quantity_format(value, constant->kind, 12);
    *out = (RhChangedProblem){.stack = *c->stack, .c = *c};
    out->hardware = rh_platform_copy(hardware);
    bool fine = g_str_has_prefix(set, STACK_PREFIX)
                    ? rh_stack_set(&out->stack, set + strlen(STACK_PREFIX), text, NULL)
                    : rh_platform_set(out->hardware, set + strlen(PLATFORM_PREFIX), text, NULL) &&
                          rh_power_of_host_agrees(out->hardware, NULL);
    out->seen = rh_stack_platform(&out->stack, out->hardware);
    rh_platform_share(out->seen, &c->job.clients);
    out->c.platform = out->seen;
    out->c.stack = &out->stack;
    return fine;
}

static void add(GArray *constants, char *set, RhQuantity kind, const RhRange *range,
                const RhFact *fact)
{
    RhConstant k = {set, kind, range, *fact};
    if (fact->tag != RH_TAG_NONE && fact->value > 0)
        g_array_append_val(constants, k);
    else
        g_free(set);
}

static void constant_clear(void *data)
{
    g_free(((RhConstant *)data)->set);
}

static void add_rows(GArray *constants, const RhProblem *c, const RhPlatform *hardware)
{
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++)
        if (!rows[i].device && !rh_stack_ignores(c->stack, hardware, rows[i].key))
            add(constants, g_strconcat(PLATFORM_PREFIX, rows[i].key, NULL), rows[i].kind,
                rows[i].range, rh_facts_seen(c->platform, &rows[i]));
}

static void add_listed(GArray *constants, const GArray *facts, const char *owner)
{
    for (guint i = 0; i < facts->len; i++) {
        const RhListedFact *f = &g_array_index(facts, RhListedFact, i);
        if (!f->without_effect)
            add(constants, g_strconcat(owner, f->key, NULL), f->kind, f->range, f->fact);
    }
}

/* Adds a device's constants; devices after the first are named, and none twice. */
static void add_device(GArray *constants, const RhProblem *c, const RhPlatform *hardware,
                       int32_t which)
{
    const RhDevice *device = rh_platform_device(c->platform, which);
    for (int32_t i = 0; i < which; i++)
        if (strcmp(rh_platform_device(c->platform, i)->name, device->name) == 0)
            return;
    g_autofree char *owner = which == 0
                                 ? g_strdup(PLATFORM_PREFIX "device.")
                                 : g_strdup_printf(PLATFORM_PREFIX "device.%s.", device->name);
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].device && !rh_stack_ignores(c->stack, hardware, rows[i].key))
            add(constants, g_strconcat(owner, rows[i].key + strlen("device."), NULL), rows[i].kind,
                rows[i].range,
                (const RhFact *)(const void *)((const char *)device + rows[i].offset));
    g_autoptr(GArray) tiles = rh_facts_of_tiles(device);
    add_listed(constants, tiles, owner);
}

GArray *rh_problem_constants(const RhProblem *c, const RhPlatform *hardware)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(RhConstant));
    g_array_set_clear_func(out, constant_clear);
    add_rows(out, c, hardware);
    for (int32_t i = 0; i < rh_platform_devices_count(c->platform); i++)
        add_device(out, c, hardware, i);
    g_autoptr(GArray) tiers = rh_facts_of_tiers(c->platform);
    add_listed(out, tiers, PLATFORM_PREFIX);
    size_t count = 0;
    const RhStackFact *facts = rh_stack_facts(&count);
    for (size_t i = 0; i < count; i++)
        add(out, g_strconcat(STACK_PREFIX, facts[i].key, NULL), facts[i].kind, &facts[i].range,
            rh_stack_fact(c->stack, &facts[i]));
    return out;
}
