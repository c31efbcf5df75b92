#include "base/shell/shell_script.h"

#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "base/shell/shell_private.h"
#include "base/text/text_input.h"

#define BYTES_MAX (1u << 20)
#define WORD_ENDS " \t\r\n;&|<>()"

/* --- assignments --- */

static void set_variable(RhShellReader *r, const char *name, GPtrArray *value)
{
    g_hash_table_replace(r->state.values, g_strdup(name), value);
}

bool rh_shell_store(RhShellReader *r, const char *name, GPtrArray *value, bool append, bool array)
{
    GPtrArray *known = g_hash_table_lookup(r->state.values, name);
    RhTruth here = rh_shell_active(r);
    if (here == RH_TRUTH_NO || (here == RH_TRUTH_UNKNOWN && known)) {
        g_ptr_array_unref(value);
        return true;
    }
    if (!append || !known) {
        set_variable(r, name, value);
        return true;
    }
    g_autoptr(GPtrArray) added = value;
    RhShellWord *last = known->len > 0 ? known->pdata[known->len - 1] : NULL;
    const RhShellWord *more = added->len > 0 ? added->pdata[0] : NULL;
    if (array) {
        g_ptr_array_set_free_func(added, NULL);
        for (guint i = 0; i < added->len; i++)
            g_ptr_array_add(known, added->pdata[i]);
        return true;
    }
    if (!last || !more)
        return true;
    r->state.bytes += strlen(last->text);
    if (r->state.bytes > 8 * BYTES_MAX)
        return rh_shell_fail(r->shell, r->at, 1, "the words of this script grow past 8 MiB", NULL,
                             r->state.error);
    char *text = g_strconcat(last->text, more->text, NULL);
    g_free(last->text);
    *last = (RhShellWord){text, last->offset, last->span, last->whole && more->whole};
    return true;
}

/* Returns the length of "NAME=" or "NAME+=" at the start of a raw word; 0: it is no assignment. */
static size_t assignment_span(const char *raw)
{
    size_t name = strspn(raw, RH_SHELL_NAME);
    if (name == 0 || g_ascii_isdigit(*raw))
        return 0;
    return raw[name] == '=' ? name + 1 : raw[name] == '+' && raw[name + 1] == '=' ? name + 2 : 0;
}

static bool fail_open(RhShellReader *r, size_t offset, char open)
{
    g_autofree char *message = g_strdup_printf("this %c is never closed", open);
    return rh_shell_fail(r->shell, offset, 1, message, NULL, r->state.error);
}

/* Finds the end of the raw word at r->at. */
static bool span_word(RhShellReader *r, size_t *span)
{
    char open = 0;
    *span = rh_shell_span(r->text + r->at, WORD_ENDS, &open);
    return !open || fail_open(r, r->at + *span, open);
}

/* Skips blanks, continued lines and comments; `lines`: ends of lines, too. */
static void skip_blanks(RhShellReader *r, bool lines)
{
    for (;;) {
        r->at += strspn(r->text + r->at, lines ? " \t\r\n" : " \t\r");
        const char *c = r->text + r->at;
        if (g_str_has_prefix(c, "\\\n"))
            r->at += 2;
        else if (g_str_has_prefix(c, "\\\r\n"))
            r->at += 3;
        else if (*c == '#')
            r->at += strcspn(c, "\n");
        else
            return;
    }
}

/* Reads "(...)" behind "NAME=" and stores it. */
static bool read_array(RhShellReader *r, const char *name, bool append)
{
    size_t begin = r->at;
    g_autoptr(GPtrArray) value = rh_shell_words_new();
    r->at++;
    for (skip_blanks(r, true); r->text[r->at] != ')'; skip_blanks(r, true)) {
        size_t span = 0;
        if (!r->text[r->at])
            return fail_open(r, begin, '(');
        if (!span_word(r, &span) || !rh_shell_expand(&r->state, r->at, span, value))
            return false;
        r->at += MAX(span, 1); /* a stray sign, as ";" */
    }
    r->at++;
    return rh_shell_store(r, name, g_steal_pointer(&value), append, true);
}

/* Stores the text behind "NAME=". */
static bool read_scalar(RhShellReader *r, const char *raw, size_t offset, const char *name,
                        bool append)
{
    bool whole = true;
    char *text = rh_shell_expand_text(&r->state, raw, offset, false, &whole);
    if (!text)
        return false;
    GPtrArray *value = rh_shell_words_new();
    g_ptr_array_add(value, rh_shell_word_new(text, offset, MAX(strlen(raw), 1), whole));
    return rh_shell_store(r, name, value, append, false);
}

/* --- one command --- */

static void command_free(void *data)
{
    RhShellCommand *command = data;
    g_ptr_array_unref(command->words);
    g_ptr_array_unref(command->environment);
    g_free(command->input);
    g_free(command->output);
    g_free(command);
}

static RhShellCommand *command_new(void)
{
    RhShellCommand *command = g_new0(RhShellCommand, 1);
    command->words = rh_shell_words_new();
    command->environment = rh_shell_words_new();
    return command;
}

/* Words of a command as they are read. */
typedef struct {
    RhShellCommand *command; /* owned until it is kept */
    GPtrArray *assigned;     /* owned: names and raw values of "NAME=value" before it */
    bool declares;           /* it is export or the like */
    bool reads;              /* it is `read` */
    bool double_brackets;
    guint heres_before;
} Making;

/* Reads "NAME=value" or "NAME=(...)" at r->at. */
static bool read_assignment(RhShellReader *r, Making *m, size_t length)
{
    const char *raw = r->text + r->at;
    bool append = raw[length - 2] == '+';
    g_autofree char *name = g_strndup(raw, length - (append ? 2 : 1));
    size_t begin = r->at, span = 0;
    if (raw[length] == '(') {
        r->at += length;
        return read_array(r, name, append);
    }
    if (!span_word(r, &span))
        return false;
    r->at += span;
    g_autofree char *value = g_strndup(raw + length, span - length);
    bool whole = true;
    char *text = rh_shell_expand_text(&r->state, value, begin + length, false, &whole);
    if (!text)
        return false;
    g_autofree char *said = text;
    g_ptr_array_add(m->command->environment,
                    rh_shell_word_new(g_strdup_printf("%s=%s", name, said), begin, span, whole));
    return read_scalar(r, value, begin + length, name, append);
}

/* Reads the word behind "<<". */
static bool read_here(RhShellReader *r, Making *m)
{
    bool tabs = r->text[r->at] == '-';
    r->at += tabs;
    skip_blanks(r, false);
    size_t span = 0;
    if (!span_word(r, &span))
        return false;
    g_autoptr(GString) ending = g_string_new(NULL);
    bool quoted = false;
    for (size_t i = 0; i < span; i++)
        if (strchr("'\"\\", r->text[r->at + i]))
            quoted = true;
        else
            g_string_append_c(ending, r->text[r->at + i]);
    r->at += span;
    const RhShellWord *last =
        m->command->words->len > 0 ? m->command->words->pdata[m->command->words->len - 1] : NULL;
    RhShellHere here = {m->command, g_string_free(g_steal_pointer(&ending), FALSE),
                        m->reads && last && *last->text ? g_strdup(last->text) : NULL, quoted,
                        tabs};
    g_array_append_val(r->heres, here);
    return true;
}

/* Reads "> file", "2>&1", "<<END" and the like, whose first sign is at r->at. */
static bool read_redirection(RhShellReader *r, Making *m)
{
    bool out = r->text[r->at] == '>';
    if (g_str_has_prefix(r->text + r->at, "<<<")) {
        r->at += 3;
    } else if (g_str_has_prefix(r->text + r->at, "<<")) {
        r->at += 2;
        return read_here(r, m);
    } else {
        r->at += strspn(r->text + r->at, "<>&|");
        if (r->text[r->at] == '(') /* <(command): its commands are read as any */
            return true;
    }
    skip_blanks(r, false);
    size_t span = 0;
    if (!span_word(r, &span))
        return false;
    g_autofree char *raw = g_strndup(r->text + r->at, span);
    bool whole = true;
    char *file = rh_shell_expand_text(&r->state, raw, r->at, false, &whole);
    r->at += span;
    if (!file)
        return false;
    if (out && *file && !g_ascii_isdigit(*file)) {
        g_free(m->command->output);
        m->command->output = file;
    } else {
        g_free(file);
    }
    return true;
}

/* Looks at the first word: a reserved one is dropped, and those that declare variables are told. */
static bool read_first(RhShellReader *r, Making *m, bool *reserved)
{
    static const char *const declaring[] = {"export",  "declare",  "local",
                                            "typeset", "readonly", NULL};
    const RhShellWord *first = m->command->words->pdata[0];
    *reserved = false;
    if (!first->whole)
        return true;
    m->declares = g_strv_contains(declaring, first->text);
    m->reads = strcmp(first->text, "read") == 0;
    m->double_brackets = strcmp(first->text, "[[") == 0;
    if (!rh_shell_read_reserved(r, first->text, reserved))
        return false;
    if (*reserved)
        g_ptr_array_set_size(m->command->words, 0);
    return true;
}

/* Reads the word at r->at. */
static bool read_word(RhShellReader *r, Making *m)
{
    size_t span = 0, assigned = assignment_span(r->text + r->at);
    GPtrArray *words = m->command->words;
    bool before = words->len == 0;
    if (assigned > 0 && (before || m->declares))
        return read_assignment(r, m, assigned);
    if (!span_word(r, &span))
        return false;
    bool number = span > 0 && strspn(r->text + r->at, "0123456789") == span;
    if (number && strchr("<>", r->text[r->at + span]) && r->text[r->at + span]) {
        r->at += span; /* of the stream that is redirected */
        return true;
    }
    if (!rh_shell_expand(&r->state, r->at, span, words))
        return false;
    r->at += span;
    bool reserved = false;
    return !before || words->len == 0 || read_first(r, m, &reserved);
}

static bool begin_case(RhShellReader *r, const RhShellCommand *command)
{
    const RhShellWord *subject = rh_shell_word(command, 1);
    char *text = subject && subject->whole ? g_strdup(subject->text) : NULL;
    return rh_shell_push_frame(
        r, (RhShellFrame){FRAME_CASE, RH_TRUTH_NO, RH_TRUTH_NO, true, 0, text, NULL});
}

/* Keeps a command that is read, or acts on it. */
static bool end_command(RhShellReader *r, Making *m)
{
    RhShellCommand *command = m->command;
    const RhShellWord *first = rh_shell_word(command, 0);
    RhShellFrame *f = rh_shell_top_frame(r);
    if (!first)
        return true;
    if (strcmp(first->text, "for") == 0)
        return rh_shell_begin_loop(r, command);
    if (strcmp(first->text, "case") == 0)
        return begin_case(r, command);
    RhTruth here = rh_shell_active(r), says = rh_shell_test(command->words);
    if (f && f->asks && f->kind == FRAME_IF)
        f->asked = here == RH_TRUTH_NO ? f->asked : says;
    r->before = here == RH_TRUTH_NO ? r->before : says;
    command->uncertain = here == RH_TRUTH_UNKNOWN;
    if (here != RH_TRUTH_NO) {
        g_ptr_array_add(r->shell->commands, command);
        m->command = NULL;
    }
    return true;
}

/* Reads a command up to what ends it, which is left. */
static bool read_command(RhShellReader *r)
{
    Making m = {.command = command_new(), .heres_before = r->heres->len};
    bool fine = true;
    for (skip_blanks(r, false); fine && r->text[r->at]; skip_blanks(r, false)) {
        char c = r->text[r->at];
        bool amp_out = c == '&' && r->text[r->at + 1] == '>';
        if (m.double_brackets && strchr("&|<>()", c)) { /* signs of a test */
            size_t span = strspn(r->text + r->at, "&|<>()");
            g_ptr_array_add(m.command->words,
                            rh_shell_word_new(g_strndup(r->text + r->at, span), r->at, span, true));
            r->at += span;
        } else if (c == '<' || c == '>' || amp_out) {
            r->at += amp_out;
            fine = read_redirection(r, &m);
        } else if (strchr("\n;&|()", c)) {
            break;
        } else {
            fine = read_word(r, &m);
        }
    }
    fine = fine && end_command(r, &m);
    if (m.command) {
        for (guint i = m.heres_before; i < r->heres->len; i++)
            g_array_index(r->heres, RhShellHere, i).command = NULL;
        command_free(m.command);
    }
    return fine;
}

/* --- what stands between commands --- */

/* Reads the patterns of a case up to ")". */
static bool read_patterns(RhShellReader *r, RhShellFrame *f)
{
    RhTruth says = f->subject ? RH_TRUTH_NO : RH_TRUTH_UNKNOWN;
    for (skip_blanks(r, true); r->text[r->at] && r->text[r->at] != ')'; skip_blanks(r, true)) {
        size_t span = 0;
        if (!span_word(r, &span))
            return false;
        g_autofree char *raw = g_strndup(r->text + r->at, span);
        if (strcmp(raw, "esac") == 0)
            return true;
        bool whole = true;
        g_autofree char *pattern =
            span > 0 ? rh_shell_expand_text(&r->state, raw, r->at, false, &whole) : NULL;
        if (span > 0 && !pattern)
            return false;
        if (pattern && f->subject && fnmatch(pattern, f->subject, 0) == 0)
            says = RH_TRUTH_YES;
        r->at += MAX(span, 1); /* "|" or "(" */
    }
    r->at += r->text[r->at] == ')';
    rh_shell_choose(f, says);
    return true;
}

/* Reads the body of a here-document at r->at. */
static bool read_body(RhShellReader *r, RhShellHere *here)
{
    g_autoptr(GString) body = g_string_new(NULL);
    size_t begin = r->at;
    while (r->text[r->at]) {
        const char *line = r->text + r->at;
        size_t length = strcspn(line, "\n"), tabs = here->tabs ? strspn(line, "\t") : 0;
        size_t plain = length - (length > 0 && line[length - 1] == '\r');
        r->at += length + (line[length] == '\n');
        tabs = MIN(tabs, plain);
        if (plain - tabs == strlen(here->ending) &&
            strncmp(line + tabs, here->ending, plain - tabs) == 0)
            break;
        g_string_append_len(body, line + tabs, (gssize)(length - tabs));
        g_string_append_c(body, '\n');
    }
    bool whole = true;
    char *text = here->quoted ? g_strdup(body->str)
                              : rh_shell_expand_text(&r->state, body->str, begin, true, &whole);
    if (!text)
        return false;
    if (here->variable) {
        GPtrArray *value = rh_shell_words_new();
        g_ptr_array_add(value, rh_shell_word_new(g_strdup(text), begin, 1, whole));
        if (!rh_shell_store(r, here->variable, value, false, false)) {
            g_free(text);
            return false;
        }
    }
    if (here->command) {
        g_free(here->command->input);
        here->command->input = g_strdup(text);
        here->command->input_offset = begin;
    }
    g_free(text);
    return true;
}

static void here_clear(void *data)
{
    RhShellHere *here = data;
    g_free(here->ending);
    g_free(here->variable);
}

static bool end_line(RhShellReader *r)
{
    bool fine = true;
    r->at++;
    for (guint i = 0; fine && i < r->heres->len; i++)
        fine = read_body(r, &g_array_index(r->heres, RhShellHere, i));
    g_array_set_size(r->heres, 0);
    return fine;
}

/* Steps over what ended a command. */
static bool end_part(RhShellReader *r)
{
    const char *c = r->text + r->at;
    RhShellFrame *f = rh_shell_top_frame(r);
    r->joined = g_str_has_prefix(c, "&&") ? '&' : g_str_has_prefix(c, "||") ? '|' : 0;
    if (!r->joined)
        r->before = RH_TRUTH_UNKNOWN;
    if (*c == '\n')
        return end_line(r);
    if (g_str_has_prefix(c, ";;") && f && f->kind == FRAME_CASE) {
        f->asks = true;
        f->active = RH_TRUTH_NO;
    }
    r->at += r->joined || g_str_has_prefix(c, ";;") ? 2 : *c ? 1 : 0;
    if (r->joined)
        skip_blanks(r, true);
    return true;
}

/* Splits comments that tell a scheduler what to allocate, as "#SBATCH -N 2". */
static bool read_directives(RhShellReader *r)
{
    for (const char *line = r->text; *line;) {
        size_t length = strcspn(line, "\n");
        if (g_str_has_prefix(line, "#SBATCH") || g_str_has_prefix(line, "#PBS")) {
            RhShellCommand *command = command_new();
            g_ptr_array_add(r->shell->directives, command);
            for (size_t i = 0, span; i < length; i += span) {
                i += strspn(line + i, " \t\r");
                span = strcspn(line + i, " \t\r\n");
                if (i < length && span > 0)
                    g_ptr_array_add(command->words,
                                    rh_shell_word_new(g_strndup(line + i, span),
                                                      (size_t)(line - r->text) + i, span, true));
                span = MAX(span, 1);
            }
        }
        line += length + (line[length] == '\n');
    }
    return true;
}

static bool read_script(RhShellReader *r)
{
    if (!read_directives(r))
        return false;
    while (r->text[r->at]) {
        RhShellFrame *f = rh_shell_top_frame(r);
        bool patterns = f && f->kind == FRAME_CASE && f->asks;
        if (patterns && !read_patterns(r, f))
            return false;
        if (!read_command(r) || !end_part(r))
            return false;
    }
    return true;
}

/* --- scripts --- */

static void keep_variables(RhShell *shell, const RhShellState *state)
{
    GHashTableIter at;
    gpointer name;
    g_hash_table_iter_init(&at, state->values);
    while (g_hash_table_iter_next(&at, &name, NULL)) {
        bool whole = true;
        g_hash_table_replace(shell->variables, g_strdup(name), rh_shell_value(state, name, &whole));
    }
}

static void frame_clear(void *data)
{
    RhShellFrame *f = data;
    g_free(f->subject);
    rh_shell_loop_free(f->loop);
}

static void words_free(void *words)
{
    g_ptr_array_unref(words);
}

RhShell *rh_shell_parse(const char *name, const char *text, size_t length, GError **error)
{
    const char *start = rh_text_check(name, text, length, error);
    if (!start)
        return NULL;
    length -= (size_t)(start - text);
    if (length > BYTES_MAX) {
        rh_fail(error, RH_ERROR_INPUT, "%s is larger than 1 MiB", name);
        return NULL;
    }
    g_autoptr(RhShell) shell = g_new0(RhShell, 1);
    *shell = (RhShell){g_strdup(name),
                       g_strndup(start, length),
                       length,
                       g_ptr_array_new_with_free_func(command_free),
                       g_ptr_array_new_with_free_func(command_free),
                       g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
    g_autoptr(GHashTable) values =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, words_free);
    g_autoptr(GArray) frames = g_array_new(FALSE, TRUE, sizeof(RhShellFrame));
    g_autoptr(GArray) heres = g_array_new(FALSE, TRUE, sizeof(RhShellHere));
    g_array_set_clear_func(frames, frame_clear);
    g_array_set_clear_func(heres, here_clear);
    RhShellReader r = {.state = {.shell = shell, .values = values, .error = error},
                       .shell = shell,
                       .text = shell->text,
                       .frames = frames,
                       .heres = heres};
    if (!read_script(&r))
        return NULL;
    keep_variables(shell, &r.state);
    return g_steal_pointer(&shell);
}

RhShell *rh_shell_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, BYTES_MAX, &text, &length, error))
        return NULL;
    return rh_shell_parse(path, text, length, error);
}

void rh_shell_free(RhShell *shell)
{
    if (!shell)
        return;
    g_free(shell->name);
    g_free(shell->text);
    g_ptr_array_unref(shell->commands);
    g_ptr_array_unref(shell->directives);
    g_hash_table_unref(shell->variables);
    g_free(shell);
}

const RhShellWord *rh_shell_word(const RhShellCommand *command, guint index)
{
    return index < command->words->len ? command->words->pdata[index] : NULL;
}

bool rh_shell_fail(const RhShell *shell, size_t offset, size_t span, const char *message,
                   const char *help, GError **error)
{
    const RhJson at = {.name = shell->name, .text = shell->text, .length = shell->length};
    g_autofree char *text = rh_json_render(&at, offset, MAX(span, 1), message, help);
    return rh_fail(error, RH_ERROR_INPUT, "%s", text);
}
