#include "validate/cases/case_platform.h"

#include <string.h>

#include "platforms/device_name_match.h"

/* Nodes of a device as the catalogue's nearest platform has them: "h100-sxm:8x4", "gb200:72x1".
 * Caller frees; NULL and the reason. */
static char *device_text(RhCaseTranslation *way, const char *device, int64_t gpus)
{
    GError *local = NULL;
    g_autoptr(RhDevice) d = rh_device_load(device, &local);
    g_autoptr(RhPlatform) node = d ? rh_platform_load(rh_device_platform(d), &local) : NULL;
    if (!node) {
        rh_case_give_up_with(way, "platform: ", local);
        return NULL;
    }
    int64_t each = node->gpus_per_node;
    return g_strdup_printf("%s:%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, device, each,
                           (gpus + each - 1) / each);
}

/* Platform of a rule for a job of so many GPUs: racks of which it takes 64 GPUs each, or all 72
 * where that alone divides it. */
static const char *said_platform(const char *said, int64_t gpus)
{
    bool whole = gpus % 72 == 0 && gpus % 64 != 0;
    if (whole && g_strcmp0(said, "gb200-nvl64") == 0)
        return "gb200-nvl72";
    return whole && g_strcmp0(said, "gb300-nvl64") == 0 ? "gb300-nvl72" : said;
}

/* Does the cell name a card, PCIe or NVL, where the rule's platform has another form factor? */
static bool other_form(const char *cell, const char *platform)
{
    static const char *const forms[] = {"pcie", "nvl"};
    g_autoptr(RhPlatform) p = rh_platform_load(platform, NULL);
    g_autofree char *lower = g_ascii_strdown(cell, -1);
    g_auto(GStrv) words = g_strsplit_set(lower, " -_", -1);
    for (size_t i = 0; p && i < G_N_ELEMENTS(forms); i++)
        if (g_strv_contains((const char *const *)words, forms[i]) &&
            !strstr(p->device->name, forms[i]))
            return true;
    return false;
}

/* Platform with enough nodes for the job: "dgx-a100:8", "h100-sxm:8x4". Caller frees; NULL and the
 * reason. */
static char *platform_text(RhCaseTranslation *way)
{
    GError *local = NULL;
    int64_t gpus = way->row->whole[RH_CASE_GPUS];
    const char *cell = rh_case_cell(way, RH_CASE_GPU);
    const char *name = said_platform(rh_case_says(way, RH_CASE_SAYS_PLATFORM), gpus);
    g_autofree char *lower = g_ascii_strdown(cell, -1);
    if (name && other_form(cell, name))
        name = NULL;
    if (!name && g_strv_contains(rh_device_names(), lower))
        return g_strdup_printf("%s:8x%" G_GINT64_FORMAT, lower, (gpus + 7) / 8);
    if (!name)
        name = rh_platform_of_name(cell);
    if (!name) {
        const char *device = rh_device_of_name(cell, false, NULL);
        if (device)
            return device_text(way, device, gpus);
        rh_case_give_up(way, "gpu %s: not in the catalogue", cell);
        return NULL;
    }
    g_autoptr(RhPlatform) one = rh_platform_load(name, &local);
    if (!one) {
        rh_case_give_up_with(way, "platform: ", local);
        return NULL;
    }
    return g_strdup_printf("%s:%" G_GINT64_FORMAT, name,
                           (gpus + one->gpus_per_node - 1) / one->gpus_per_node);
}

/* Sets a fact: "nic.efficiency=0.5". */
static bool set_fact(RhPlatform *platform, const char *said, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(said, "=", 2);
    return !said[0] || rh_platform_set(platform, parts[0], parts[1] ? parts[1] : "", error);
}

/* Sets the clock of a device that was fitted to steps, unless its stack has one of its own. */
static void lay_clock(const RhStepModel *constants, const RhDevice *bare, RhDevice *device)
{
    const RhStepClock *clock =
        constants ? rh_step_model_clock((RhStepModel *)constants, device->name) : NULL;
    RhFact *fact = &device->curves.sustained_clock_frac;
    if (!clock || fact->tag != RH_TAG_FITTED ||
        fact->value != bare->curves.sustained_clock_frac.value)
        return;
    fact->value = clock->clock_frac.value;
    rh_device_refresh(device);
}

RhPlatform *rh_case_platform(RhCaseTranslation *way, const RhStack *stack,
                             const RhStepConstants *constants, GHashTable *platforms)
{
    GError *local = NULL;
    const char *said = rh_case_says(way, RH_CASE_SAYS_SET), *own = said ? said : "";
    g_autofree char *text = platform_text(way);
    if (!text)
        return NULL;
    g_autofree char *key = g_strjoin(" ", stack->name, "on", text, own, constants->name, NULL);
    RhPlatform *view = g_hash_table_lookup(platforms, key);
    if (view)
        return view;
    g_autoptr(RhPlatform) bare = rh_platform_load(text, &local);
    if (!bare || !set_fact(bare, own, &local)) {
        rh_case_give_up_with(way, "platform: ", local);
        return NULL;
    }
    view = rh_stack_platform(stack, bare);
    lay_clock(constants->fitted, bare->device, view->device);
    g_hash_table_insert(platforms, g_steal_pointer(&key), view);
    return view;
}
