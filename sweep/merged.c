#include "sweep/merged.h"

#include <string.h>

#include "base/error.h"
#include "base/json/json_tree_builder.h"

#define DEPTH_MAX 16

/* Answers while they are read: cells by column, in the order in which columns first appear. */
typedef struct {
    const RhMergeRules *rules;
    const char *const *patterns;
    GPtrArray *names;    /* char*, owned by `numbers` */
    GHashTable *numbers; /* owned name -> number + 1; 0: no pattern has it */
    GPtrArray *answers;  /* GPtrArray of RhMergedCell* by column, NULL where there is none */
    GPtrArray *current;
} Gathering;

static void cell_free(void *data)
{
    RhMergedCell *cell = data;
    if (cell)
        g_free(cell->text);
    g_free(cell);
}

static bool is_wanted(const Gathering *g, const char *name)
{
    for (const char *const *pattern = g->patterns; *pattern; pattern++)
        if (g_pattern_match_simple(*pattern, name))
            return true;
    return false;
}

static int32_t column_of(Gathering *g, const char *name)
{
    void *known;
    if (!g_hash_table_lookup_extended(g->numbers, name, NULL, &known)) {
        char *copy = g_strdup(name);
        if (is_wanted(g, name))
            g_ptr_array_add(g->names, copy);
        known = GINT_TO_POINTER(is_wanted(g, name) ? (int)g->names->len : 0);
        g_hash_table_insert(g->numbers, copy, known);
    }
    return GPOINTER_TO_INT(known) - 1;
}

static RhMergedCell *cell_of(RhJson *doc, const RhJsonNode *node)
{
    RhMergedCell *cell = g_new0(RhMergedCell, 1);
    RhJsonKind kind = rh_json_kind(node);
    if (kind == RH_JSON_NUMBER) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        double value = rh_json_node_number(doc, node, -G_MAXDOUBLE, G_MAXDOUBLE);
        cell->text = g_strdup(rh_json_number_text(value, text));
        cell->kind = RH_CELL_NUMBER;
    } else if (kind == RH_JSON_TEXT) {
        cell->text = g_strdup(rh_json_raw_text(node));
        cell->kind = RH_CELL_TEXT;
    } else {
        cell->text = g_strdup(kind == RH_JSON_TRUE ? "true" : "false");
        cell->kind = RH_CELL_FLAG;
    }
    return cell;
}

static void put_cell(Gathering *g, RhJson *doc, const RhJsonNode *node, const char *path)
{
    int32_t column = column_of(g, path);
    if (column < 0 || rh_json_kind(node) == RH_JSON_NULL)
        return;
    if (g->current->len <= (guint)column)
        g_ptr_array_set_size(g->current, column + 1);
    cell_free(g_ptr_array_index(g->current, column));
    g_ptr_array_index(g->current, column) = cell_of(doc, node);
}

static void gather(Gathering *g, RhJson *doc, const RhJsonNode *node, const char *path, int depth);

/* Returns whether a member repeats the question, or says who answered it. */
static bool is_about_question(const char *key)
{
    return strcmp(key, "schema") == 0 || strcmp(key, "version") == 0 || strcmp(key, "argv") == 0 ||
           strcmp(key, "inputs") == 0;
}

/* The element of the answer's list that is the answer; NULL: the answer is no. */
static const RhJsonNode *element_of(const Gathering *g, RhJson *doc, const RhJsonNode *answer,
                                    const RhJsonNode *list)
{
    int64_t number = 1, most = rh_json_kind(list) == RH_JSON_ARRAY ? rh_json_count(list) : 0;
    if (g->rules->best)
        number = rh_json_int_or(doc, answer, g->rules->best, 1, MAX(most, 1), 0);
    return number >= 1 && number <= most ? rh_json_at(list, (int)number - 1) : NULL;
}

static void gather_members(Gathering *g, RhJson *doc, const RhJsonNode *object, const char *path,
                           int depth)
{
    for (const RhJsonNode *n = rh_json_first(object); n; n = rh_json_next(n)) {
        const char *key = rh_json_key(n);
        if (!*path && is_about_question(key))
            continue;
        if (!*path && g_strcmp0(key, g->rules->list) == 0) {
            const RhJsonNode *one = element_of(g, doc, object, n);
            if (one)
                gather(g, doc, one, "", depth + 1);
            continue;
        }
        g_autofree char *longer = *path ? g_strdup_printf("%s.%s", path, key) : g_strdup(key);
        gather(g, doc, n, longer, depth + 1);
    }
}

static void gather_named(Gathering *g, RhJson *doc, const RhJsonNode *array, const char *path,
                         int depth)
{
    for (const RhJsonNode *n = rh_json_first(array); n; n = rh_json_next(n)) {
        const RhJsonNode *name =
            rh_json_kind(n) == RH_JSON_OBJECT ? rh_json_member(n, "name") : NULL;
        const char *text = name ? rh_json_raw_text(name) : NULL;
        if (!text)
            continue;
        g_autofree char *parent = g_str_has_suffix(path, ".children")
                                      ? g_strndup(path, strlen(path) - strlen(".children"))
                                      : g_strdup(path);
        g_autofree char *longer = g_strdup_printf("%s.%s", parent, text);
        gather(g, doc, n, longer, depth + 1);
    }
}

static void gather(Gathering *g, RhJson *doc, const RhJsonNode *node, const char *path, int depth)
{
    if (depth > DEPTH_MAX)
        return;
    switch (rh_json_kind(node)) {
    case RH_JSON_OBJECT:
        gather_members(g, doc, node, path, depth);
        break;
    case RH_JSON_ARRAY:
        gather_named(g, doc, node, path, depth);
        break;
    case RH_JSON_NULL:
    case RH_JSON_FALSE:
    case RH_JSON_TRUE:
    case RH_JSON_NUMBER:
    case RH_JSON_TEXT:
        put_cell(g, doc, node, path);
        break;
    }
}

/* --- rows --- */

static RhMergedCell cell_text(const char *text)
{
    return text && *text ? (RhMergedCell){.kind = RH_CELL_TEXT, .text = g_strdup(text)}
                         : (RhMergedCell){.kind = RH_CELL_EMPTY};
}

/* A value of an axis is a number where it reads as one. */
static RhMergedCell axis_cell(const char *text)
{
    char *end;
    RhMergedCell cell = cell_text(text);
    if (cell.text) {
        g_ascii_strtod(text, &end);
        if (!*end && strspn(text, "+-.0123456789eE") == strlen(text))
            cell.kind = RH_CELL_NUMBER;
    }
    return cell;
}

static char *first_line(const char *text)
{
    return text ? g_strndup(text, strcspn(text, "\n")) : NULL;
}

/* Reads one entry: the row's fixed cells, and those of the answer. */
static bool take_record(Gathering *g, RhMerged *m, const RhStudyItem *item,
                        const RhJournalRecord *record, GError **error)
{
    g_autoptr(RhJson) doc = rh_journal_parse(record, error);
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc), *answer = rh_json_member(root, "answer");
    const RhJsonNode *why = rh_json_member(root, "error");
    RhMergedCell *row = g_new0(RhMergedCell, m->axes_count + 2);
    for (int32_t i = 0; i < m->axes_count; i++)
        row[i] = axis_cell(item->values[i]);
    g_autofree char *line = why ? first_line(rh_json_raw_text(why)) : NULL;
    row[m->axes_count] =
        (RhMergedCell){.kind = RH_CELL_NUMBER, .text = g_strdup_printf("%d", record->status)};
    row[m->axes_count + 1] = cell_text(line);
    g_ptr_array_add(m->rows, row);
    g->current = g_ptr_array_new();
    g_ptr_array_add(g->answers, g->current);
    if (answer && rh_json_kind(answer) == RH_JSON_OBJECT)
        gather(g, doc, answer, "", 0);
    m->failed_count += rh_journal_is_failure(record->status);
    return true;
}

/* Columns in the order of the patterns, those of one pattern as they first appear. */
static GArray *ordered(const Gathering *g)
{
    GArray *order = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autofree bool *taken = g_new0(bool, g->names->len + 1);
    for (const char *const *pattern = g->patterns; *pattern; pattern++)
        for (guint i = 0; i < g->names->len; i++)
            if (!taken[i] && g_pattern_match_simple(*pattern, g_ptr_array_index(g->names, i))) {
                taken[i] = true;
                g_array_append_val(order, i);
            }
    return order;
}

static void join_rows(const Gathering *g, RhMerged *m)
{
    g_autoptr(GArray) order = ordered(g);
    guint fixed = (guint)m->axes_count + 2;
    for (guint i = 0; i < order->len; i++) { /* an answer may have a member of an axis' name */
        const char *name = g_ptr_array_index(g->names, g_array_index(order, guint, i));
        bool twice = rh_merged_column(m, name) >= 0;
        g_ptr_array_add(m->names, g_strconcat(twice ? "answer." : "", name, NULL));
    }
    for (guint r = 0; r < m->rows->len; r++) {
        RhMergedCell *row =
            g_renew(RhMergedCell, g_ptr_array_index(m->rows, r), fixed + order->len);
        GPtrArray *cells = g_ptr_array_index(g->answers, r);
        for (guint i = 0; i < order->len; i++) {
            guint column = g_array_index(order, guint, i);
            RhMergedCell *cell = column < cells->len ? g_ptr_array_index(cells, column) : NULL;
            row[fixed + i] = cell ? *cell : (RhMergedCell){.kind = RH_CELL_EMPTY};
            g_free(cell); /* its text went to the row */
        }
        g_ptr_array_index(m->rows, r) = row;
    }
}

static void answers_free(void *data)
{
    g_ptr_array_unref(data);
}

RhMerged *rh_merged_new(const RhStudy *study, const RhJournals *journals, const RhMergeRules *rules,
                        GError **error)
{
    RhMerged *m = g_new0(RhMerged, 1);
    m->names = g_ptr_array_new_with_free_func(g_free);
    m->rows = g_ptr_array_new();
    m->items = g_array_new(FALSE, FALSE, sizeof(int32_t));
    m->axes_count = (int32_t)study->axes->len;
    for (guint i = 0; i < study->axes->len; i++)
        g_ptr_array_add(m->names, g_strdup(g_ptr_array_index(study->axes, i)));
    g_ptr_array_add(m->names, g_strdup("status"));
    g_ptr_array_add(m->names, g_strdup("error"));
    g_autoptr(GPtrArray) own = g_ptr_array_copy(study->columns, NULL, NULL);
    g_ptr_array_add(own, NULL);
    Gathering g = {.rules = rules,
                   .patterns =
                       study->columns->len > 0 ? (const char *const *)own->pdata : rules->columns,
                   .names = g_ptr_array_new(),
                   .numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                   .answers = g_ptr_array_new_with_free_func(answers_free)};
    bool fine = true;
    for (guint i = 0; i < study->items->len && fine; i++) {
        const RhStudyItem *item = g_ptr_array_index(study->items, i);
        const RhJournalRecord *record = rh_journals_find(journals, item->key);
        m->absent_count += record == NULL;
        fine = !record || take_record(&g, m, item, record, error);
        if (record && fine)
            g_array_append_val(m->items, i);
    }
    join_rows(&g, m);
    g_ptr_array_unref(g.names);
    g_hash_table_unref(g.numbers);
    g_ptr_array_unref(g.answers);
    if (!fine)
        g_clear_pointer(&m, rh_merged_free);
    return m;
}

void rh_merged_free(RhMerged *m)
{
    if (!m)
        return;
    for (guint r = 0; r < m->rows->len; r++) {
        RhMergedCell *row = g_ptr_array_index(m->rows, r);
        for (guint i = 0; i < m->names->len; i++)
            g_free(row[i].text);
        g_free(row);
    }
    g_ptr_array_unref(m->rows);
    g_ptr_array_unref(m->names);
    g_array_unref(m->items);
    g_free(m);
}

int32_t rh_merged_column(const RhMerged *m, const char *name)
{
    for (guint i = 0; i < m->names->len; i++)
        if (strcmp(g_ptr_array_index(m->names, i), name) == 0)
            return (int32_t)i;
    return -1;
}

/* --- texts --- */

static void append_csv(GString *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        g_string_append(out, text);
        return;
    }
    g_string_append_c(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            g_string_append_c(out, '"');
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
}

char *rh_merged_csv(const RhMerged *m)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < m->names->len; i++) {
        g_string_append(out, i > 0 ? "," : "");
        append_csv(out, g_ptr_array_index(m->names, i));
    }
    g_string_append_c(out, '\n');
    for (guint r = 0; r < m->rows->len; r++) {
        const RhMergedCell *row = g_ptr_array_index(m->rows, r);
        for (guint i = 0; i < m->names->len; i++) {
            g_string_append(out, i > 0 ? "," : "");
            append_csv(out, row[i].text ? row[i].text : "");
        }
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

static void put_json(RhJsonWriter *w, const char *name, const RhMergedCell *cell)
{
    switch (cell->kind) {
    case RH_CELL_EMPTY:
        rh_json_put_null(w, name);
        break;
    case RH_CELL_NUMBER:
        rh_json_put_number(w, name, g_ascii_strtod(cell->text, NULL));
        break;
    case RH_CELL_TEXT:
        rh_json_put_string(w, name, cell->text);
        break;
    case RH_CELL_FLAG:
        rh_json_put_bool(w, name, strcmp(cell->text, "true") == 0);
        break;
    }
}

char *rh_merged_json_lines(const RhMerged *m)
{
    GString *out = g_string_new(NULL);
    for (guint r = 0; r < m->rows->len; r++) {
        g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
        rh_json_begin_object(w, NULL);
        for (guint i = 0; i < m->names->len; i++)
            put_json(w, g_ptr_array_index(m->names, i),
                     (const RhMergedCell *)g_ptr_array_index(m->rows, r) + i);
        rh_json_end_object(w);
        g_autofree char *line = rh_json_writer_steal(w);
        g_string_append(out, line);
    }
    return g_string_free(out, FALSE);
}
