#include "strategies/layout.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
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

/* One row per key of the text form: a number in [low, high], one of a list of names, or a reader.
 */
typedef struct {
    const char *key;
    size_t offset;
    size_t size; /* of the field: int32_t, an enum (both 4), or bool (1) */
    int64_t low, high;
    const char *const *names; /* NULL: a number */
    /* Instead of all these; *at: the byte of `text` at fault. */
    bool (*read)(const char *text, RhLayout *layout, size_t *at, GError **error);
} LayoutKey;

#define NUMBER(key, field, low, high)                                                              \
    {                                                                                              \
        key, G_STRUCT_OFFSET(RhLayout, field), 4, low, high, NULL, NULL                            \
    }
#define NAMED(key, field, low, high, names)                                                        \
    {                                                                                              \
        key, G_STRUCT_OFFSET(RhLayout, field), sizeof(((RhLayout *)0)->field), low, high, names,   \
            NULL                                                                                   \
    }

/* --- stages=15-16x6-15: layers of each chunk in the order of the model; 16x6 is 16 six times ---
 */

static bool fail_stages(const char *entry, GError **error)
{
    g_autofree char *word = g_strndup(entry, strcspn(entry, "-"));
    return rh_fail(
        error, RH_ERROR_USAGE,
        "layout key stages: \"%s\" is no number of layers\nhelp: write the layers of each "
        "chunk as in stages=15-16-16-15 or stages=15-16x6-15, or stages=even",
        word);
}

/* Digits alone; *text behind them. */
static bool read_digits(const char **text, guint64 high, guint64 *value)
{
    char *end = NULL;
    if (!g_ascii_isdigit(**text))
        return false;
    *value = g_ascii_strtoull(*text, &end, 10);
    *text = end;
    return *value <= high;
}

static bool read_stages(const char *text, RhLayout *layout, size_t *at, GError **error)
{
    int32_t most = G_N_ELEMENTS(layout->stage_layers), count = 0;
    int16_t layers[G_N_ELEMENTS(layout->stage_layers)];
    const char *rest = text;
    *at = 0;
    for (bool more = strcmp(text, "even") != 0; more;) {
        const char *entry = rest;
        guint64 each, times = 1;
        *at = (size_t)(entry - text);
        bool fine = read_digits(&rest, G_MAXINT16, &each);
        if (fine && *rest == 'x') {
            rest++;
            fine = read_digits(&rest, G_MAXINT32, &times) && times > 0;
        }
        if (!fine || (*rest && *rest != '-'))
            return fail_stages(entry, error);
        if (times > (guint64)(most - count))
            return rh_fail(error, RH_ERROR_USAGE, "layout key stages: more than %d chunks", most);
        for (; times > 0; times--)
            layers[count++] = (int16_t)each;
        more = *rest == '-';
        rest += more;
    }
    memset(layout->stage_layers, 0, sizeof layout->stage_layers);
    memcpy(layout->stage_layers, layers, (size_t)count * sizeof *layers);
    layout->stage_layers_count = count;
    return true;
}

/* ",stages=15-16x6-15": three or more alike are counted. Nothing for an even split. */
static void append_stages(GString *out, const RhLayout *l)
{
    for (int32_t i = 0, times; i < l->stage_layers_count; i += times) {
        for (times = 1; i + times < l->stage_layers_count; times++)
            if (l->stage_layers[i + times] != l->stage_layers[i])
                break;
        times = times < 3 ? 1 : times;
        g_string_append_printf(out, "%s%d", i ? "-" : ",stages=", l->stage_layers[i]);
        if (times > 1)
            g_string_append_printf(out, "x%d", times);
    }
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
    {.key = "stages", .read = read_stages},
};

static const char *const key_names[] = {"tp",  "pp",    "dp",     "cp",        "ep",
                                        "vpp", "mb",    "zero",   "recompute", "schedule",
                                        "sp",  "order", "stages", NULL};

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
                "schedule sp order stages",
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
    size_t inside; /* the byte at fault, counted from its item's first */
} Reading;

static bool parse_item(const char *item, Reading *r, GError **error)
{
    const char *text = NULL;
    r->inside = 0;
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
    if (key->read) {
        if (!key->read(text, &r->layout, &r->inside, error)) {
            r->inside += (size_t)(text - item);
            return false;
        }
        r->seen |= bit;
        return true;
    }
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
        if (!parse_item(item, r, error)) {
            *at += r->inside;
            return false;
        }
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
    g_autofree char *text = rh_text_load(path, error);
    g_autoptr(GError) local = NULL;
    Reading r = {.layout = *layout};
    size_t at;
    if (!text)
        return false;
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
    append_stages(s, l);
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
    if (l->stage_layers_count > 0)
        g_string_append(s, ", stages as given");
    return g_string_free(g_steal_pointer(&s), FALSE);
}
