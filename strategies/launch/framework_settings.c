#include "strategies/launch/framework_settings.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "strategies/launch/framework.h"

bool rh_launch_fail_knob(const RhFramework *f, const RhKnob *knob, int32_t value, GError **error)
{
    g_autofree char *text = rh_knob_value_text(knob, value);
    g_autofree char *usual = rh_knob_value_text(knob, knob->otherwise);
    return rh_fail(error, RH_ERROR_USAGE, "%s has no %s=%s\nhelp: plan with `%s=%s`", f->title,
                   knob->key, text, knob->key, usual);
}

/* --- writing --- */

/* Returns the number that a row is about; -1: it is not said. */
static int64_t number_of(const RhLaunchText *t, const RhLaunchRow *row)
{
    if (row->knob > 0)
        return rh_knob_value(&rh_knobs[row->knob - 1], t->layout);
    if (row->size > 0)
        return t->sizes[row->size];
    return row->job == RH_JOB_FIELD_GLOBAL_BATCH ? t->c->job.global_batch
           : row->job == RH_JOB_FIELD_SEQUENCE   ? t->c->job.sequence
           : row->job == RH_JOB_FIELD_LORA_RANK  ? t->c->job.lora.rank
                                                 : -1;
}

/* Returns the value of a row's setting; NULL: it is not written. Caller frees. */
static char *value_of(const RhLaunchText *t, const RhLaunchRow *row)
{
    if (row->write)
        return row->write(t);
    if (row->read || row->otherwise == RH_ROW_NEVER)
        return NULL;
    int64_t number = number_of(t, row);
    if (row->on != 0)
        return number == row->on ? g_strdup("") : NULL;
    return number == row->otherwise || number < 0 ? NULL
                                                  : g_strdup_printf("%" G_GINT64_FORMAT, number);
}

static bool is_said(const RhLaunchRow *row, const RhKnob *knob, int32_t value)
{
    if (row->knob != 1 + (int32_t)(knob - rh_knobs))
        return false;
    if (!row->name)
        return row->allowed == 0 || (value < 32 && (row->allowed >> value & 1) != 0);
    return row->on == 0 || row->write || row->on == value || value == 0; /* by leaving it out */
}

/* Checks that every knob stands at its default or has a row for its value. */
static bool check_knobs(const RhLaunchText *t, const RhFramework *f, GError **error)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        int32_t value = rh_knob_value(knob, t->layout);
        bool said = value == knob->otherwise;
        for (int32_t i = 0; !said && i < f->rows_count; i++)
            said = is_said(&f->rows[i], knob, value);
        if (!said)
            return rh_launch_fail_knob(f, knob, value, error);
    }
    return true;
}

bool rh_launch_write_rows(RhLaunchText *t, const RhFramework *f, GError **error)
{
    if (!check_knobs(t, f, error))
        return false;
    for (int32_t i = 0; i < f->rows_count; i++) {
        const RhLaunchRow *row = &f->rows[i];
        g_autofree char *value = row->name ? value_of(t, row) : NULL;
        const char *quote = row->quoted ? "'" : "";
        if (value)
            rh_launch_write(t, "%s%s%s%s%s%s", f->dashes, row->name, *value ? f->assigned : "",
                            *value ? quote : "", value, *value ? quote : "");
    }
    return true;
}

/* --- what reading finds --- */

void rh_launch_problem(RhLaunchReading *r, const char *help, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    RhJson *doc = r->at ? r->at->doc : r->settings->docs->pdata[0];
    rh_json_problem(doc, r->at ? r->at->node : rh_json_root(doc), help, "%s", text);
}

void rh_launch_tell(RhLaunchReading *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(r->notes, g_strdup_vprintf(format, args));
    va_end(args);
}

bool rh_launch_read_number(RhLaunchReading *r, const char *text, int64_t *value)
{
    char *end = NULL;
    double number = g_ascii_strtod(text, &end);
    if (strcmp(text, "auto") == 0 || strcmp(text, "None") == 0 || strcmp(text, "null") == 0)
        return false;
    if (end != text && !*end && number == floor(number) &&
        fabs(number) <= (double)(INT64_C(1) << 40)) {
        *value = (int64_t)number;
        return true;
    }
    rh_launch_problem(r, "such as 8", "%s must be a whole number, not \"%s\"", r->at->name, text);
    return false;
}

bool rh_launch_read_switch(const char *text)
{
    static const char *const off[] = {"false", "False", "FALSE", "0",    "no",
                                      "off",   "none",  "None",  "null", NULL};
    return !g_strv_contains(off, text);
}

void rh_launch_store(RhLaunchReading *r, int32_t place, int64_t value)
{
    const RhKnob *knob = &rh_knobs[place - 1];
    if (value == -1 && knob->low >= 0) /* as the framework likes */
        return;
    if (value < knob->low || value > knob->high) {
        rh_launch_problem(r, NULL, "%s%sno %s is %" G_GINT64_FORMAT, r->at ? r->at->name : "",
                          r->at ? ": " : "", knob->key, value);
        return;
    }
    rh_knob_store(knob, &r->layout, (int32_t)value);
    r->given |= UINT64_C(1) << (place - 1);
}

void rh_launch_read_optimizer(RhLaunchReading *r, const char *text)
{
    g_autofree char *plain = g_ascii_strdown(text, -1);
    if (*plain && !strstr(plain, "adam") && strcmp(plain, "auto") != 0)
        rh_launch_tell(r, "%s %s is simulated as Adam, which keeps two moments of each weight",
                       r->at->name, text);
}

/* --- reading --- */

/* Does a name stand in "a|b|c"? A flag's "-" and "_" are one. */
static bool names_it(const char *names, const char *name)
{
    if (!names)
        return false;
    size_t length = strlen(name);
    for (const char *c = names; *c; c += strcspn(c, "|") + (c[strcspn(c, "|")] == '|')) {
        if (strcspn(c, "|") != length)
            continue;
        size_t i = 0;
        while (i < length && (c[i] == name[i] || (strchr("-_", c[i]) && strchr("-_", name[i]))))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static const RhLaunchRow *row_of(const RhFramework *f, const char *name)
{
    for (int32_t i = 0; i < f->rows_count; i++) {
        const RhLaunchRow *row = &f->rows[i];
        if (row->name && (names_it(row->name, name) || names_it(row->also, name)))
            return row;
    }
    const char *dot = strrchr(name, '.');
    return f->kin ? row_of(f->kin, dot ? dot + 1 : name) : NULL;
}

/* Is a value one of "a/b"? A switch that is given stands for true. */
static bool is_value(const char *values, const char *text)
{
    g_auto(GStrv) each = g_strsplit(values, "/", -1);
    for (char **value = each; *value; value++)
        if (g_ascii_strcasecmp(*value, *text ? text : "true") == 0)
            return true;
    return false;
}

/* Is it a setting without effect on the cost? Patterns have "*" at their ends alone; "name=a/b" is of
 * these values alone. */
static bool is_costless(const RhFramework *f, const char *name, const char *text)
{
    g_auto(GStrv) patterns = g_strsplit(f->costless ? f->costless : "", "|", -1);
    g_autofree char *plain = g_strdelimit(g_strdup(name), "_", '-');
    for (char **pattern = patterns; *pattern; pattern++) {
        char *values = strchr(*pattern, '=');
        if (values)
            *values++ = 0;
        g_strdelimit(*pattern, "_", '-');
        if (g_pattern_match_simple(*pattern, plain) && (!values || is_value(values, text)))
            return true;
    }
    const char *dot = strrchr(name, '.');
    return f->kin && is_costless(f->kin, dot ? dot + 1 : name, text);
}

/* Is it a count of which there must be one at least? */
static bool is_count(const RhLaunchRow *row)
{
    return row->knob == RH_ROW_KNOB(microbatch) || row->job == RH_JOB_FIELD_GLOBAL_BATCH ||
           row->job == RH_JOB_FIELD_ACCUMULATION || row->job == RH_JOB_FIELD_SEQUENCE;
}

static void read_by(RhLaunchReading *r, const RhLaunchRow *row, const char *text)
{
    int64_t value = 0;
    if (row->read) {
        row->read(r, text);
        return;
    }
    if (row->on != 0) {
        if (!rh_launch_read_switch(text))
            return;
        value = row->on;
    } else if (row->write && !row->knob && !row->size && !row->job) {
        return; /* is written for the numerics alone */
    } else if (!rh_launch_read_number(r, text, &value)) {
        return;
    }
    if (row->may_be_unset && value == -1)
        return;
    if (is_count(row) && value < 1)
        rh_launch_problem(r, "1 or more", "%s must be at least 1, not %s", r->at->name, text);
    else if (row->knob > 0)
        rh_launch_store(r, row->knob, value);
    else if (row->size > 0)
        r->sizes[row->size] = value;
    else if (row->job > 0)
        r->job[row->job] = value;
}

static bool is_switch_text(const char *text)
{
    static const char *const words[] = {"",  "true", "false", "True", "False",
                                        "1", "0",    "yes",   "no",   NULL};
    return g_strv_contains(words, text);
}

static void read_setting(RhLaunchReading *r, const RhLaunchSetting *s)
{
    const RhLaunchRow *row = row_of(r->framework, s->name);
    g_autofree char *line =
        g_strdup_printf("%s%s%s", s->name, *s->text ? " " : "", *s->text ? s->text : "");
    if (!s->said)
        return;
    r->at = s;
    bool has_own_use = row && (row->read || row->knob || row->size || row->job);
    bool is_switch = row && row->on != 0;
    if (!row && (!*s->name || is_costless(r->framework, s->name, s->text)))
        return;
    if (!row) {
        g_ptr_array_add(r->unknown, g_steal_pointer(&line));
    } else if (has_own_use && !s->whole && !is_switch) {
        r->nodes_outside |= row->job == RH_JOB_FIELD_NODES;
        g_ptr_array_add(r->outside, g_steal_pointer(&line));
    } else if (has_own_use) {
        read_by(r, row, is_switch && !is_switch_text(s->text) ? "" : s->text);
        g_ptr_array_add(r->used, g_steal_pointer(&line));
    }
}

void rh_launch_point(RhLaunchReading *r, int32_t knob, int32_t job)
{
    const GArray *rows = r->settings->rows;
    r->at = NULL;
    for (guint i = 0; i < rows->len; i++) {
        const RhLaunchSetting *s = &g_array_index(rows, RhLaunchSetting, i);
        const RhLaunchRow *row = s->said ? row_of(r->framework, s->name) : NULL;
        if (row && ((knob > 0 && row->knob == knob) || (job > 0 && row->job == job)))
            r->at = s;
    }
}

void rh_launch_read_rows(RhLaunchReading *r)
{
    const GArray *rows = r->settings->rows;
    for (guint i = 0; i < rows->len; i++)
        read_setting(r, &g_array_index(rows, RhLaunchSetting, i));
    r->at = NULL;
}
