#include "strategies/layout.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"

static const char *const schedule_names[] = {"none", "gpipe", "1f1b", "interleaved", NULL};
static const char *const order_names[] = {"none", "tp-dp-pp", "tp-pp-dp", NULL};
static const char *const recompute_names[] = {"none", "selective", "full", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

const char *rh_schedule_kind_name(RhScheduleKind kind)
{
    return schedule_names[kind];
}

const char *rh_order_name(RhOrder order)
{
    return order_names[order];
}

const char *rh_recompute_name(RhRecompute recompute)
{
    return recompute_names[recompute];
}

/* One row per key of the text form: a number in [low, high] or one of a list of names. */
typedef struct {
    const char *key;
    size_t offset;
    size_t size; /* of the field: int32_t, an enum (both 4), or bool (1) */
    int64_t low, high;
    const char *const *names; /* NULL: a number */
} LayoutKey;

#define NUMBER(key, field, low, high)                                                              \
    {                                                                                              \
        key, G_STRUCT_OFFSET(RhLayout, field), 4, low, high, NULL                                  \
    }
#define NAMED(key, field, low, high, names)                                                        \
    {                                                                                              \
        key, G_STRUCT_OFFSET(RhLayout, field), sizeof(((RhLayout *)0)->field), low, high, names    \
    }

static const LayoutKey layout_keys[] = {
    NUMBER("tp", tp, 1, RH_LAYOUT_DEGREE_MAX),
    NUMBER("pp", pp, 1, RH_LAYOUT_DEGREE_MAX),
    NUMBER("dp", dp, 1, RH_LAYOUT_DEGREE_MAX),
    NUMBER("cp", cp, 1, RH_LAYOUT_DEGREE_MAX),
    NUMBER("ep", ep, 1, RH_LAYOUT_DEGREE_MAX),
    NUMBER("vpp", vpp, 1, 1 << 16),
    NUMBER("mb", microbatch, 1, RH_LAYOUT_DEGREE_MAX),
    NUMBER("zero", zero, 0, 3),
    NAMED("recompute", recompute, 0, RH_RECOMPUTE_LAST - 1, recompute_names),
    NAMED("schedule", schedule, 1, RH_SCHEDULE_LAST - 1, schedule_names),
    NAMED("sp", sequence_parallel, 0, 1, switch_names),
    NAMED("order", order, 1, RH_ORDER_LAST - 1, order_names),
};

static const char *const key_names[] = {"tp",   "pp",        "dp",       "cp", "ep",    "vpp", "mb",
                                        "zero", "recompute", "schedule", "sp", "order", NULL};

static const LayoutKey *find_key(const char *key, size_t length)
{
    for (size_t i = 0; i < G_N_ELEMENTS(layout_keys); i++)
        if (strlen(layout_keys[i].key) == length && strncmp(layout_keys[i].key, key, length) == 0)
            return &layout_keys[i];
    return NULL;
}

static void store(RhLayout *layout, const LayoutKey *key, int64_t value)
{
    char *field = (char *)layout + key->offset;
    if (key->size == sizeof(bool))
        *(bool *)(void *)field = value != 0;
    else
        *(int32_t *)(void *)field = (int32_t)value;
}

static bool read_named(const LayoutKey *key, const char *text, int64_t *value, GError **error)
{
    g_autoptr(GString) legal = g_string_new(NULL);
    for (int64_t i = key->low; i <= key->high; i++) {
        if (strcmp(key->names[i], text) == 0) {
            *value = i;
            return true;
        }
        g_string_append_printf(legal, "%s%s", legal->len ? ", " : "", key->names[i]);
    }
    return rh_fail(error, RH_ERROR_USAGE, "%s has no value \"%s\"\nnote: values of %s: %s",
                   key->key, text, key->key, legal->str);
}

/* Splits "pp16" or "recompute=full" into a row of the table and the value's text. */
static const LayoutKey *split_item(const char *item, const char **value, GError **error)
{
    const char *equals = strchr(item, '=');
    size_t length = equals ? (size_t)(equals - item) : strcspn(item, "0123456789");
    const LayoutKey *key = find_key(item, length);
    if (!key) {
        g_autofree char *word = g_strndup(item, length);
        const char *near = rh_nearest_name(word, key_names);
        rh_fail(error, RH_ERROR_USAGE,
                "unknown layout key \"%s\"%s%s%s\nnote: keys: tp pp dp cp ep vpp mb zero recompute "
                "schedule sp order",
                word, near ? "\nhelp: a key with a similar name exists: \"" : "", near ? near : "",
                near ? "\"" : "");
        return NULL;
    }
    *value = equals ? equals + 1 : item + length;
    return key;
}

/* What is read so far: the layout, and a bit per row of layout_keys. */
typedef struct {
    RhLayout layout;
    unsigned seen;
} Reading;

static bool parse_item(const char *item, Reading *r, GError **error)
{
    const char *text = NULL;
    if (!*item)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a key is missing\nhelp: write keys with one comma between two, as in "
                       "tp8,pp4,recompute=full");
    const LayoutKey *key = split_item(item, &text, error);
    int64_t value = 0;
    if (!key)
        return false;
    unsigned bit = 1u << (key - layout_keys);
    if (r->seen & bit)
        return rh_fail(error, RH_ERROR_USAGE, "%s is given twice", key->key);
    if (key->names) {
        if (!read_named(key, text, &value, error))
            return false;
    } else if (!rh_integer_parse(text, key->low, key->high, &value, error)) {
        (*error)->code = RH_ERROR_USAGE;
        g_prefix_error(error, "layout key %s: ", key->key);
        return false;
    }
    r->seen |= bit;
    store(&r->layout, key, value);
    return true;
}

/* Items between commas; *at is the byte of the one at fault. */
static bool parse_items(const char *text, Reading *r, size_t *at, GError **error)
{
    for (const char *start = text;; start++) {
        size_t length = strcspn(start, ",");
        g_autofree char *item = g_strstrip(g_strndup(start, length));
        *at = (size_t)(start - text) + strspn(start, " \t");
        if (!parse_item(item, r, error))
            return false;
        start += length;
        if (!*start)
            return true;
    }
}

/* The schedule follows vpp, unless it is given. */
static RhLayout finished(const Reading *r)
{
    RhLayout l = r->layout;
    bool given = r->seen & (1u << (find_key("schedule", strlen("schedule")) - layout_keys));
    if (!given && l.vpp > 1)
        l.schedule = RH_SCHEDULE_INTERLEAVED;
    else if (!given && l.schedule == RH_SCHEDULE_INTERLEAVED)
        l.schedule = RH_SCHEDULE_1F1B;
    return l;
}

bool rh_layout_parse(const char *text, RhLayout *layout, GError **error)
{
    Reading r = {.layout = *layout};
    GError *local = NULL;
    size_t at;
    if (!text[strspn(text, " \t")])
        return rh_fail(error, RH_ERROR_USAGE,
                       "the layout is empty\nhelp: write keys as in tp8,pp4,recompute=full; those "
                       "left out take their defaults");
    if (!parse_items(text, &r, &at, &local)) {
        if (strchr(text, ','))
            g_prefix_error(&local, "character %zu of the layout: ", at + 1);
        g_propagate_error(error, local);
        return false;
    }
    *layout = finished(&r);
    return true;
}

/* One line of a file: a comment and the comma that goes on in the next line are cut off. */
static bool parse_line(char *line, Reading *r, size_t *at, GError **error)
{
    *at = 0;
    line[strcspn(line, "#")] = '\0';
    g_strchomp(line);
    if (!*line)
        return true;
    if (g_str_has_suffix(line, ","))
        line[strlen(line) - 1] = '\0';
    return parse_items(line, r, at, error);
}

bool rh_layout_load(const char *path, RhLayout *layout, GError **error)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) local = NULL;
    Reading r = {.layout = *layout};
    size_t at;
    if (!g_file_get_contents(path, &text, NULL, &local))
        return rh_fail(error, RH_ERROR_IO, "%s", local->message);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++)
        if (!parse_line(lines[i], &r, &at, &local))
            return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%zu: %s", path, i + 1, at + 1,
                           local->message);
    if (!r.seen)
        return rh_fail(error, RH_ERROR_INPUT, "%s: no layout is in it", path);
    *layout = finished(&r);
    return true;
}

RhLayout rh_layout_default(void)
{
    return (RhLayout){.tp = 1,
                      .pp = 1,
                      .dp = 0,
                      .cp = 1,
                      .ep = 1,
                      .vpp = 1,
                      .microbatch = 1,
                      .zero = 1,
                      .recompute = RH_RECOMPUTE_NONE,
                      .schedule = RH_SCHEDULE_1F1B,
                      .sequence_parallel = true,
                      .order = RH_ORDER_TP_DP_PP};
}

bool rh_layout_equal(const RhLayout *a, const RhLayout *b)
{
    for (int32_t i = 0; i < a->stage_layers_count && i < b->stage_layers_count; i++)
        if (a->stage_layers[i] != b->stage_layers[i])
            return false;
    return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp && a->cp == b->cp && a->ep == b->ep &&
           a->vpp == b->vpp && a->microbatch == b->microbatch && a->zero == b->zero &&
           a->recompute == b->recompute && a->schedule == b->schedule && a->order == b->order &&
           a->sequence_parallel == b->sequence_parallel &&
           a->stage_layers_count == b->stage_layers_count;
}

char *rh_layout_format(const RhLayout *l)
{
    g_autoptr(GString) s = g_string_new(NULL);
    g_string_append_printf(s, "tp%d,pp%d", l->tp, l->pp);
    if (l->dp > 0)
        g_string_append_printf(s, ",dp%d", l->dp);
    g_string_append_printf(
        s, ",cp%d,ep%d,vpp%d,mb%d,zero%d,recompute=%s,schedule=%s,sp=%s,order=%s", l->cp, l->ep,
        l->vpp, l->microbatch, l->zero, recompute_names[l->recompute], schedule_names[l->schedule],
        switch_names[l->sequence_parallel], order_names[l->order]);
    return g_string_free(g_steal_pointer(&s), FALSE);
}

char *rh_layout_title(const RhLayout *l)
{
    g_autoptr(GString) s = g_string_new(NULL);
    g_string_append_printf(s, "tp%d pp%d", l->tp, l->pp);
    if (l->dp > 0)
        g_string_append_printf(s, " dp%d", l->dp);
    if (l->cp > 1)
        g_string_append_printf(s, " cp%d", l->cp);
    if (l->ep > 1)
        g_string_append_printf(s, " ep%d", l->ep);
    if (l->vpp > 1)
        g_string_append_printf(s, " vpp%d", l->vpp);
    g_string_append_printf(s, ", micro-batch %d, ", l->microbatch);
    if (l->zero > 0)
        g_string_append_printf(s, "ZeRO-%d, ", l->zero);
    g_string_append_printf(s, "%s recompute",
                           l->recompute == RH_RECOMPUTE_NONE ? "no"
                                                             : recompute_names[l->recompute]);
    if (l->pp > 1 && l->schedule == RH_SCHEDULE_GPIPE)
        g_string_append(s, ", GPipe");
    return g_string_free(g_steal_pointer(&s), FALSE);
}
