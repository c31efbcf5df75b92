#include "strategies/layout.h"

#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "base/text/text_input.h"
#include "strategies/knobs.h"

/* Splits "pp16" or "recompute=full" into a row of the table and the value's text. */
static const RhKnob *split_item(const char *item, const char **value, GError **error)
{
    const char *equals = strchr(item, '=');
    size_t length = equals ? (size_t)(equals - item) : strcspn(item, "0123456789");
    const RhKnob *knob = rh_knob_find(item, length);
    if (!knob) {
        g_autofree char *word = g_strndup(item, length);
        g_autofree char *keys = g_strjoinv(" ", (char **)rh_knob_keys());
        const char *near = rh_near_name(word, rh_knob_keys());
        rh_fail(error, RH_ERROR_USAGE, "unknown layout key \"%s\"%s%s%s\nnote: keys: %s", word,
                near ? "\nhelp: a key with a similar name exists: \"" : "", near ? near : "",
                near ? "\"" : "", keys);
        return NULL;
    }
    *value = equals ? equals + 1 : item + length;
    return knob;
}

/* State of reading: the layout, and a bit per row of rh_knobs. */
typedef struct {
    RhLayout layout;
    uint64_t seen;
    size_t inside; /* offset of the wrong byte from its item's first */
} Reading;

static uint64_t bit_of(const RhKnob *knob)
{
    return UINT64_C(1) << (knob - rh_knobs);
}

static bool parse_item(const char *item, Reading *r, GError **error)
{
    const char *text = NULL;
    r->inside = 0;
    if (!*item)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a key is missing\nhelp: write keys with one comma between two, as in "
                       "tp8,pp4,recompute=full");
    const RhKnob *knob = split_item(item, &text, error);
    if (!knob)
        return false;
    if (r->seen & bit_of(knob))
        return rh_fail(error, RH_ERROR_USAGE, "%s is given twice", knob->key);
    if (!rh_knob_read(knob, text, &r->layout, &r->inside, error)) {
        r->inside += knob->list ? (size_t)(text - item) : 0;
        return false;
    }
    r->seen |= bit_of(knob);
    return true;
}

/* Parses items between commas; *at is the byte of a wrong one. */
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

/* Completes a layout: the schedule follows from vpp, unless it is given; and vpp from a schedule
 * with a single number of chunks. */
static RhLayout finished(const Reading *r)
{
    RhLayout l = r->layout;
    bool given = r->seen & RH_KNOB_BIT(schedule);
    if (given && !(r->seen & RH_KNOB_BIT(vpp)) && rh_pipeline_kind_chunks(l.schedule) > 1)
        l.vpp = rh_pipeline_kind_chunks(l.schedule);
    if (!given && rh_pipeline_kind_chunked(l.schedule) != (l.vpp > 1))
        l.schedule = l.vpp > 1 ? RH_PIPELINE_INTERLEAVED : RH_PIPELINE_1F1B;
    return l;
}

bool rh_layout_parse(const char *text, RhLayout *layout, GError **error)
{
    uint64_t given;
    return rh_layout_change(text, layout, &given, error);
}

bool rh_layout_change(const char *text, RhLayout *layout, uint64_t *given, GError **error)
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
    *given = r.seen;
    return true;
}

/* Parses one line of a file; a comment, and the comma before the next line, are cut off. */
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

const RhKnob *rh_layout_refused_knob(const GError *why)
{
    return rh_knob_find(why->message, strspn(why->message, "abcdefghijklmnopqrstuvwxyz_"));
}

/* Finds line and column of the knob's item, or of the first item; both from 1. */
static void find_item(const char *text, const RhKnob *knob, int *line, int *column)
{
    int at_line = 1;
    bool found = false;
    for (const char *at = text, *start = text; *at; at++) {
        if (*at == '#')
            at += strcspn(at, "\n");
        bool begins = g_ascii_isalpha(*at) && (at == text || strchr(" \t\n,", at[-1]));
        const char *value;
        g_autofree char *item = begins ? g_strndup(at, strcspn(at, ",#\n")) : NULL;
        const RhKnob *of = item ? split_item(item, &value, NULL) : NULL;
        if (of && (!found || of == knob)) {
            *line = at_line;
            *column = (int)(at - start) + 1;
            found = true;
        }
        if (*at == '\n') {
            at_line++;
            start = at + 1;
        }
        if (!*at || (of && of == knob))
            return;
    }
}

bool rh_layout_refuse(const char *path, GError *why, GError **error)
{
    g_autofree char *text = rh_text_load(path, NULL);
    int line = 1, column = 1;
    if (text)
        find_item(text, rh_layout_refused_knob(why), &line, &column);
    rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: %s", path, line, column, why->message);
    g_error_free(why);
    return false;
}

const char *rh_layout_family(const RhLayout *l)
{
    bool grouped = l->tp > 1 || l->pp > 1, sharded = l->zero >= 2;
    return l->ep > 1             ? "expert"
           : l->cp > 1           ? "context"
           : sharded && !grouped ? "fsdp"
           : sharded             ? "hybrid"
           : grouped             ? "tensor/pipeline"
                                 : "data";
}

void rh_layout_open_families(const RhLayout *layout, const char *families[2])
{
    RhLayout l = *layout;
    l.zero = 3;
    families[0] = rh_layout_family(&l);
    l.zero = 0;
    families[1] = rh_layout_family(&l);
}

RhLayout rh_layout_default(void)
{
    RhLayout l = {0};
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        rh_knob_store(knob, &l, knob->otherwise);
    return l;
}

bool rh_layout_equal(const RhLayout *a, const RhLayout *b)
{
#define RH_KNOB(type, field, ...)                                                                  \
    if (a->field != b->field)                                                                      \
        return false;
#include "strategies/knob_rows.h"
#undef RH_KNOB
    return memcmp(a->stage_layers, b->stage_layers,
                  (size_t)a->stage_layers_count * sizeof *a->stage_layers) == 0 &&
           memcmp(a->recomputed_layers, b->recomputed_layers,
                  (size_t)MAX(a->recomputed_layers_count, 0) * sizeof *a->recomputed_layers) == 0;
}

char *rh_layout_format(const RhLayout *l)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *text = rh_knob_text(knob, l);
        if (text)
            g_string_append_printf(s, "%s%s%s%s", s->len ? "," : "", knob->key,
                                   knob->names || knob->list ? "=" : "", text);
    }
    return g_string_free(g_steal_pointer(&s), FALSE);
}

/* Appends the titles of the degrees, or of all other knobs. */
static void append_titles(GString *s, const RhLayout *l, bool degrees)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *title =
            knob->title && knob->degree == degrees ? knob->title(knob, l) : NULL;
        if (title)
            g_string_append_printf(s, "%s%s", !s->len ? "" : degrees ? " " : ", ", title);
    }
}

char *rh_layout_title(const RhLayout *l)
{
    g_autoptr(GString) s = g_string_new(NULL);
    append_titles(s, l, true);
    append_titles(s, l, false);
    return g_string_free(g_steal_pointer(&s), FALSE);
}
