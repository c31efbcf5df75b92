#include "workloads/requests/requests_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal_parse.h"
#include "base/text/text_input.h"
#include "base/units.h"
#include "workloads/requests/requests_json.h"

#define CELLS_MAX   256
#define CLOCK_MAX_S 1e11 /* three thousand years: larger values have a mistaken unit */

/* State of a reading. */
typedef struct {
    RhLines *lines;
    RhRequests *out;
    const RhRequestFormat *format; /* NULL: not recognised yet */
    bool json, skip_bad, begun;
    bool hopeless;                   /* the table itself is wrong, not one line */
    int32_t header_cells;            /* CSV only */
    int32_t places[RH_FIELDS_COUNT]; /* CSV only: place of each field among the cells; -1: absent */
    GHashTable *sessions;            /* name -> number + 1 */
    int64_t epoch_s;                 /* whole seconds of the first request, so that fractions keep
                                      * their digits */
} Reader;

static bool fail_line(const Reader *r, RhFlaw *flaw, GError **error)
{
    rh_fail(error, RH_ERROR_INPUT, "%s:%" G_GINT64_FORMAT ":%d: %s", rh_lines_name(r->lines),
            rh_lines_number(r->lines), flaw->column, flaw->what);
    g_clear_pointer(&flaw->what, g_free);
    return false;
}

/* --- values --- */

static bool flaw_in_field(const Reader *r, RhRequestField field, RhCell cell, RhFlaw *flaw,
                          const char *what)
{
    g_autofree char *plain = rh_text_plain(cell.from);
    return rh_flaw(flaw, cell.column, "%s \"%.60s\" %s", r->format->columns[field], plain, what);
}

static bool read_whole(const Reader *r, RhRequestField field, RhCell cell, int32_t low,
                       int32_t *out, RhFlaw *flaw)
{
    double x = 0;
    bool read = rh_number_parse(cell.from, &x);
    if (!read || x != floor(x) || x < low || x > RH_REQUEST_TOKENS_MAX) {
        g_autofree char *what = g_strdup_printf(
            "is not a whole number from %d to %d\nhelp: %s", low, RH_REQUEST_TOKENS_MAX,
            read && x == 0 && low == 1 ? "no server takes a request without a token of "
                                         "prompt or of answer: leave the line out"
                                       : "correct it, or leave the line out");
        return flaw_in_field(r, field, cell, flaw, what);
    }
    *out = (int32_t)x;
    return true;
}

/* Reads digits of a fixed width at *at, and moves it behind them. */
static bool read_digits(const char **at, int32_t width, int32_t *out)
{
    *out = 0;
    for (int32_t i = 0; i < width; i++, (*at)++) {
        if (!g_ascii_isdigit(**at))
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool read_char(const char **at, const char *of)
{
    if (!**at || !strchr(of, **at))
        return false;
    (*at)++;
    return true;
}

/* Reads a time zone: "", "Z", "+05:30", "-08"; seconds east of Greenwich. */
static bool read_zone(const char *at, int32_t *east_s)
{
    int32_t sign = *at == '-' ? -1 : 1, hours = 0, minutes = 0;
    *east_s = 0;
    if (*at == 0 || strcmp(at, "Z") == 0)
        return true;
    if (!read_char(&at, "+-") || !read_digits(&at, 2, &hours))
        return false;
    if (*at && ((*at == ':' && !*++at) || !read_digits(&at, 2, &minutes)))
        return false;
    *east_s = sign * (hours * 3600 + minutes * 60);
    return *at == 0 && hours <= 14 && minutes < 60;
}

/* Reads an ISO 8601 date: "2023-11-16 18:17:03.9799600", "2024-05-10 00:00:00.009930+00:00". */
static bool read_date(const char *text, int64_t *whole_s, double *part_s)
{
    int32_t year, month, day, hour, minute, second, east_s;
    const char *at = text;
    if (!read_digits(&at, 4, &year) || !read_char(&at, "-") || !read_digits(&at, 2, &month) ||
        !read_char(&at, "-") || !read_digits(&at, 2, &day) || !read_char(&at, " T") ||
        !read_digits(&at, 2, &hour) || !read_char(&at, ":") || !read_digits(&at, 2, &minute) ||
        !read_char(&at, ":") || !read_digits(&at, 2, &second))
        return false;
    size_t fraction = *at == '.' ? 1 + strspn(at + 1, "0123456789") : 0;
    g_autofree char *digits = g_strndup(at, fraction);
    if (fraction == 1 || !g_date_valid_dmy((GDateDay)day, (GDateMonth)month, (GDateYear)year) ||
        hour > 23 || minute > 59 || second > 60 || !read_zone(at + fraction, &east_s))
        return false;
    GDate date;
    g_date_clear(&date, 1);
    g_date_set_dmy(&date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
    *whole_s =
        (int64_t)g_date_get_julian(&date) * 86400 + hour * 3600 + minute * 60 + second - east_s;
    *part_s = fraction ? g_ascii_strtod(digits, NULL) : 0;
    return true;
}

static bool read_clock(const Reader *r, RhCell cell, int64_t *whole_s, double *part_s, RhFlaw *flaw)
{
    static const struct {
        double unit_s;
        const char *what;
    } clocks[] = {
        [RH_CLOCK_S] = {1, "is not a number of seconds"},
        [RH_CLOCK_MS] = {1e-3, "is not a number of milliseconds"},
        [RH_CLOCK_NS] = {1e-9, "is not a number of nanoseconds"},
        [RH_CLOCK_DATE] = {0, "is not a time\nhelp: write 2024-05-10 00:00:00.009930"},
    };
    double x = 0;
    if (r->format->clock == RH_CLOCK_DATE)
        return read_date(cell.from, whole_s, part_s) ||
               flaw_in_field(r, RH_FIELD_TIME, cell, flaw, clocks[RH_CLOCK_DATE].what);
    double unit_s = clocks[r->format->clock].unit_s;
    if (!rh_number_parse(cell.from, &x) || x < 0 || x * unit_s > CLOCK_MAX_S) {
        g_autofree char *what =
            g_strdup_printf("%s from 0 to %g\nhelp: correct it, or leave the line out",
                            clocks[r->format->clock].what, CLOCK_MAX_S / unit_s);
        return flaw_in_field(r, RH_FIELD_TIME, cell, flaw, what);
    }
    *whole_s = (int64_t)floor(x * unit_s);
    *part_s = x * unit_s - (double)*whole_s;
    return true;
}

static int32_t session_of(Reader *r, const char *name)
{
    if (!*name || strcmp(name, "-1") == 0)
        return -1;
    gpointer number = g_hash_table_lookup(r->sessions, name);
    if (!number) {
        number = GINT_TO_POINTER((gint)g_hash_table_size(r->sessions) + 1);
        g_hash_table_insert(r->sessions, g_strdup(name), number);
    }
    return GPOINTER_TO_INT(number) - 1;
}

/* Appends a list of hashes, as "[0, 1, 14]", to RhRequests.blocks. */
static bool read_hashes(Reader *r, RhCell cell, RhRequest *q, RhFlaw *flaw)
{
    GArray *blocks = r->out->blocks;
    guint first = blocks->len;
    const char *at = cell.from;
    bool fine = read_char(&at, "[");
    at += strspn(at, " \t");
    while (fine && *at != ']') {
        char *end = NULL;
        uint64_t hash = g_ascii_isdigit(*at) ? g_ascii_strtoull(at, &end, 10) : 0;
        fine = end && blocks->len < G_MAXINT32 - 1;
        if (!fine)
            break;
        g_array_append_val(blocks, hash);
        at = end + strspn(end, " \t");
        fine = *at == ']' || read_char(&at, ",");
        at += strspn(at, " \t");
    }
    int64_t tokens = (int64_t)(blocks->len - first) * r->format->block_tokens;
    if (!fine || tokens - r->format->block_tokens >= q->input_tokens) {
        g_array_set_size(blocks, first);
        const char *name = r->format->columns[RH_FIELD_HASHES];
        int32_t each = r->format->block_tokens;
        return fine
                   ? rh_flaw(flaw, cell.column,
                             "more of \"%s\" than the prompt has blocks of %d token%s\nhelp: write "
                             "one for each block of the prompt",
                             name, each, each == 1 ? "" : "s")
                   : rh_flaw(flaw, cell.column,
                             "\"%s\" is not a list of whole numbers, one for each block of %d "
                             "token%s\nhelp: write [0, 1, 14]",
                             name, each, each == 1 ? "" : "s");
    }
    q->blocks_first = (int32_t)first;
    q->blocks_count = (int32_t)(blocks->len - first);
    return true;
}

static bool read_time(Reader *r, RhCell cell, RhRequest *q, RhFlaw *flaw)
{
    int64_t whole_s = 0;
    double part_s = 0;
    if (!read_clock(r, cell, &whole_s, &part_s, flaw))
        return false;
    if (!r->begun)
        r->epoch_s = whole_s;
    r->begun = true;
    q->t_s = (double)(whole_s - r->epoch_s) + part_s;
    return true;
}

static bool needs(const Reader *r, RhRequestField field)
{
    return field == RH_FIELD_INPUT || (field == RH_FIELD_OUTPUT && !r->out->once) ||
           (field == RH_FIELD_TIME && r->out->timed);
}

/* Reads a request from its cells; after a flaw, whatever it appended to r->out is removed. */
static bool read_request(Reader *r, const RhCell *cells, RhFlaw *flaw)
{
    RhRequest q = {.session = -1, .output_tokens = 1};
    for (int k = 0; k < RH_FIELDS_COUNT; k++)
        if (needs(r, (RhRequestField)k) && (!cells[k].from || !*cells[k].from))
            return rh_flaw(flaw, MAX(cells[k].column, 1),
                           "no \"%s\"\nhelp: write it in every line, or in none",
                           r->format->columns[k]);
    const RhCell *priority = &cells[RH_FIELD_PRIORITY], *session = &cells[RH_FIELD_SESSION];
    if (!read_whole(r, RH_FIELD_INPUT, cells[RH_FIELD_INPUT], 1, &q.input_tokens, flaw) ||
        (!r->out->once &&
         !read_whole(r, RH_FIELD_OUTPUT, cells[RH_FIELD_OUTPUT], 1, &q.output_tokens, flaw)) ||
        (priority->from && *priority->from &&
         !read_whole(r, RH_FIELD_PRIORITY, *priority, -RH_REQUEST_TOKENS_MAX, &q.priority, flaw)) ||
        (r->out->timed && !read_time(r, cells[RH_FIELD_TIME], &q, flaw)) ||
        (cells[RH_FIELD_HASHES].from && !read_hashes(r, cells[RH_FIELD_HASHES], &q, flaw)))
        return false;
    if (session->from)
        q.session = session_of(r, session->from);
    g_array_append_val(r->out->list, q);
    return true;
}

/* --- lines --- */

static bool fail_unknown(const Reader *r, const char *const *names, GError **error)
{
    const RhRequestFormat *near = rh_request_format_near(names, r->json);
    g_autofree char *known = rh_requests_formats_text("      ");
    const char *kind = r->json ? "key" : "column";
    g_autofree char *lacks = NULL;
    if (near)
        lacks = g_strdup_printf(
            "note: it looks like %s, but has no %s \"%s\"\n", near->name, kind,
            near->columns[g_strv_contains(names, near->columns[RH_FIELD_INPUT]) ? RH_FIELD_OUTPUT
                                                                                : RH_FIELD_INPUT]);
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s:%" G_GINT64_FORMAT ":1: these are not the %ss of a trace that is known\n"
                   "%snote: those known are\n%shelp: name the %ss arrival_s, input_tokens and "
                   "output_tokens",
                   rh_lines_name(r->lines), rh_lines_number(r->lines), kind, lacks ? lacks : "",
                   known, kind);
}

/* Sets the format that these names identify. */
static bool recognise(Reader *r, const char *const *names, GError **error)
{
    r->format = rh_request_format(names, r->json);
    if (!r->format)
        return fail_unknown(r, names, error);
    for (int k = 0; k < RH_FIELDS_COUNT; k++) {
        r->places[k] = -1;
        for (int32_t i = 0; r->format->columns[k] && names[i]; i++)
            if (strcmp(names[i], r->format->columns[k]) == 0)
                r->places[k] = i;
    }
    r->out->format = r->format->name;
    r->out->passed_over = g_strv_contains(names, "NumImages") ? "NumImages" : NULL;
    r->out->once = r->format->columns[RH_FIELD_OUTPUT] == NULL;
    r->out->block_tokens = r->format->block_tokens;
    r->out->timed = r->places[RH_FIELD_TIME] >= 0;
    return true;
}

static bool read_header(Reader *r, char *line, GError **error)
{
    RhCell cells[CELLS_MAX];
    RhFlaw flaw = {0};
    r->header_cells = rh_request_cells(line, cells, CELLS_MAX, &flaw);
    if (r->header_cells < 0)
        return fail_line(r, &flaw, error);
    g_autofree const char **names = g_new0(const char *, (gsize)r->header_cells + 1);
    for (int32_t i = 0; i < r->header_cells; i++) {
        names[i] = g_strstrip(line + (cells[i].from - line));
        for (int32_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0 && *names[i])
                return rh_flaw(&flaw, cells[i].column,
                               "two columns are named \"%.60s\"\nhelp: leave one", names[i]) ||
                       fail_line(r, &flaw, error);
    }
    return recognise(r, names, error);
}

static bool read_csv(Reader *r, char *line, RhFlaw *flaw)
{
    RhCell all[CELLS_MAX], cells[RH_FIELDS_COUNT] = {0};
    int32_t count = rh_request_cells(line, all, CELLS_MAX, flaw);
    if (count < 0)
        return false;
    if (count != r->header_cells)
        return rh_flaw(flaw, 1,
                       "%d cells in this line, %d in the header\nhelp: correct it, or leave the "
                       "line out",
                       count, r->header_cells);
    for (int k = 0; k < RH_FIELDS_COUNT; k++)
        if (r->places[k] >= 0)
            cells[k] = all[r->places[k]];
    return read_request(r, cells, flaw);
}

static bool read_json(Reader *r, char *line, RhFlaw *flaw)
{
    RhCell cells[RH_FIELDS_COUNT];
    return rh_request_object(line, r->format->columns, cells, RH_FIELDS_COUNT, flaw) &&
           read_request(r, cells, flaw);
}

/* Reads the first line: a header, or the first request, whose keys identify the format. */
static bool read_first_line(Reader *r, char *line, GError **error)
{
    RhFlaw flaw = {0};
    const char *at = line + strspn(line, " \t");
    r->json = *at == '{';
    r->hopeless = true;
    if (*at == '[')
        return rh_flaw(&flaw, 1,
                       "a JSON array, not lines\nhelp: write one object a line: jq -c '.[]'") ||
               fail_line(r, &flaw, error);
    if (!r->json)
        return read_header(r, line, error);
    g_auto(GStrv) keys = rh_request_keys(line, &flaw);
    r->hopeless = keys != NULL;
    return keys ? recognise(r, (const char *const *)keys, error) : fail_line(r, &flaw, error);
}

static bool read_line(Reader *r, char *line, size_t length, GError **error)
{
    RhFlaw flaw = {0};
    r->hopeless = false;
    if (!rh_text_check_line(rh_lines_name(r->lines), rh_lines_number(r->lines), line, length,
                            error))
        return false;
    if (!r->format && (!read_first_line(r, line, error) || !r->json))
        return r->format != NULL;
    r->hopeless = r->out->list->len >= RH_REQUESTS_MAX;
    if (r->hopeless)
        return rh_flaw(&flaw, 1, "more than %d requests", RH_REQUESTS_MAX) ||
               fail_line(r, &flaw, error);
    return (r->json ? read_json : read_csv)(r, line, &flaw) || fail_line(r, &flaw, error);
}

/* Handles a malformed line: ends the reading, or counts the line. Takes `bad`. */
static bool handle_bad_line(Reader *r, GError *bad, GError **error)
{
    if (!r->skip_bad || r->hopeless) {
        g_propagate_error(error, bad);
        return false;
    }
    if (r->out->skipped_count++ == 0)
        r->out->skipped_first = g_strndup(bad->message, strcspn(bad->message, "\n"));
    g_error_free(bad);
    return true;
}

static bool is_idle(const char *line, size_t length)
{
    return *line == '#' || strspn(line, " \t") == length;
}

static bool read_all(Reader *r, GError **error)
{
    g_autoptr(GError) local = NULL;
    size_t length = 0;
    for (char *line; (line = rh_lines_next(r->lines, &length, &local));) {
        GError *bad = NULL;
        if (!is_idle(line, length) && !read_line(r, line, length, &bad) &&
            !handle_bad_line(r, bad, error))
            return false;
    }
    if (local) {
        g_propagate_error(error, g_steal_pointer(&local));
        return false;
    }
    if (r->out->list->len == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: there is no request in it%s%s\n"
                       "help: a line for each request, below a first line such as "
                       "arrival_s,input_tokens,output_tokens",
                       rh_lines_name(r->lines),
                       r->out->skipped_first ? "\nnote: the first line left out: " : "",
                       r->out->skipped_first ? r->out->skipped_first : "");
    return true;
}

static RhRequests *read_lines(RhLines *lines, bool skip_bad, GError **error)
{
    g_autoptr(RhRequests) out = rh_requests_new(NULL);
    g_autoptr(GHashTable) sessions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Reader r = {.lines = lines, .out = out, .skip_bad = skip_bad, .sessions = sessions};
    if (!read_all(&r, error))
        return NULL;
    rh_requests_settle(out);
    return g_steal_pointer(&out);
}

#define HEAD_BYTES 65536 /* of a file tell whether it is one of requests_json.h */

/* The beginning of a file, NUL-ended; NULL where it cannot be read or is a pipe, whose text comes
 * once. Caller frees. */
static char *head_of(const char *path)
{
    FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "rbe") : NULL;
    if (!file)
        return NULL;
    char *head = g_malloc0(HEAD_BYTES + 1);
    size_t length = fread(head, 1, HEAD_BYTES, file);
    head[length] = 0;
    fclose(file);
    return head;
}

RhRequests *rh_requests_load_any(const char *path, bool skip_bad, double chars_per_token,
                                 GError **error)
{
    g_autofree char *head = head_of(path);
    if (!head || !rh_requests_json_is(head))
        return rh_requests_load(path, skip_bad, error);
    GError *why = NULL;
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &why);
    if (file)
        return rh_requests_json_parse(path, g_mapped_file_get_contents(file),
                                      g_mapped_file_get_length(file), chars_per_token, skip_bad,
                                      error);
    rh_fail(error, RH_ERROR_IO, "cannot read %s: %s", path, why->message);
    g_error_free(why);
    return NULL;
}

RhRequests *rh_requests_load(const char *path, bool skip_bad, GError **error)
{
    g_autoptr(RhLines) lines = rh_lines_open(path, error);
    return lines ? read_lines(lines, skip_bad, error) : NULL;
}

RhRequests *rh_requests_parse(const char *name, const void *text, size_t length, bool skip_bad,
                              GError **error)
{
    g_autoptr(RhLines) lines = rh_lines_of(name, text, length);
    return read_lines(lines, skip_bad, error);
}
