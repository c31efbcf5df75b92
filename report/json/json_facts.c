#include "report/json/json_facts.h"

#include "base/json/json.h"
#include "base/units.h"
#include "platforms/platform_constants.h"
#include "strategies/software_stack_file.h"

/* Writes a fact as a number and as text. */
static void put_fact(RhJsonWriter *w, const char *key, RhQuantity kind, const RhFact *fact)
{
    if (fact->tag == RH_TAG_NONE)
        return;
    g_autofree char *text = rh_quantity_format(fact->value, kind, 3);
    rh_json_begin_object(w, key);
    rh_json_put_number(w, "value", fact->value);
    rh_json_put_string(w, "text", text);
    rh_json_put_string(w, "tag", rh_tag_name(fact->tag));
    rh_json_put_string(w, "source", fact->source);
    if (*fact->date)
        rh_json_put_string(w, "date", fact->date);
    rh_json_end_object(w);
}

static void put_rows(RhJsonWriter *w, const void *base, bool device)
{
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].device == device)
            put_fact(w, device ? rows[i].place : rows[i].key, rows[i].kind,
                     (const RhFact *)(const void *)((const char *)base + rows[i].offset));
}

static void put_listed(RhJsonWriter *w, const GArray *facts)
{
    for (guint i = 0; i < facts->len; i++) {
        const RhListedFact *f = &g_array_index(facts, RhListedFact, i);
        if (!f->without_effect)
            put_fact(w, f->key, f->kind, f->fact);
    }
}

static void put_platform(RhJsonWriter *w, const RhPlatform *p)
{
    rh_json_begin_object(w, "platform");
    put_rows(w, p, false);
    g_autoptr(GArray) tiers = rh_facts_of_tiers(p);
    put_listed(w, tiers);
    rh_json_end_object(w);
}

static void put_device(RhJsonWriter *w, const RhDevice *d)
{
    rh_json_begin_object(w, d->name);
    put_rows(w, d, true);
    g_autoptr(GArray) tiles = rh_facts_of_tiles(d);
    put_listed(w, tiles);
    rh_json_end_object(w);
}

static void put_stack(RhJsonWriter *w, const RhStack *s)
{
    size_t count = 0;
    const RhStackFact *rows = rh_stack_facts(&count);
    g_autofree char *name = g_strconcat("stack ", s->name, NULL);
    rh_json_begin_object(w, name);
    for (size_t i = 0; i < count; i++)
        put_fact(w, rows[i].key, rows[i].kind, rh_stack_fact(s, &rows[i]));
    rh_json_end_object(w);
}

static void put_server(RhJsonWriter *w, const RhServer *s)
{
    size_t count = 0;
    const RhServerFact *rows = rh_server_facts(&count);
    g_autofree char *name = g_strconcat("server ", s->name, NULL);
    rh_json_begin_object(w, name);
    for (size_t i = 0; i < count; i++)
        put_fact(w, rows[i].key, rows[i].kind,
                 (const RhFact *)(const void *)((const char *)s + rows[i].offset));
    rh_json_end_object(w);
}

static void put_hardware(RhJsonWriter *w, const RhPlatform *p)
{
    put_platform(w, p);
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++)
        put_device(w, rh_platform_device(p, i));
}

static void put_question(RhJsonWriter *w, const RhQuestion *q)
{
    if (q->hardware)
        put_hardware(w, q->hardware);
    if (q->c->stack)
        put_stack(w, q->c->stack);
}

char *rh_report_facts_json(const RhQuestion *question)
{
    return rh_report_facts_of_json(&question, NULL, 1);
}

char *rh_report_platform_facts_json(const RhPlatform *platform)
{
    const RhProblem c = {0};
    const RhQuestion q = {.c = &c, .hardware = platform};
    return rh_report_facts_json(&q);
}

char *rh_report_service_facts_json(const RhPlatform *const *platforms, const char *const *names,
                                   guint count, const RhServer *server, GError **error)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    for (guint i = 0; i < count; i++) {
        g_autoptr(RhPlatform) own = rh_server_hardware(server, platforms[i], error);
        if (!own)
            return NULL;
        if (names)
            rh_json_begin_object(w, names[i]);
        put_hardware(w, own);
        if (names)
            rh_json_end_object(w);
    }
    put_server(w, server);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

char *rh_report_facts_of_json(const RhQuestion *const *questions, const char *const *names,
                              guint count)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    for (guint i = 0; i < count; i++) {
        if (names)
            rh_json_begin_object(w, names[i]);
        put_question(w, questions[i]);
        if (names)
            rh_json_end_object(w);
    }
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
