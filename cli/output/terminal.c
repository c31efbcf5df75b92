#include "cli/output/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/text_input.h"
#include "cli/parse/hint_to_options.h"

/* The state of the process's terminal; there is one. */
static struct {
    bool out_colored, error_colored, quiet, progress_enabled, progress_shown;
    bool lines_enabled; /* no terminal: a line now and then */
    int64_t t_start_us, t_shown_us, t_line_us;
    const RhCommand *command; /* whose words errors use; NULL: none runs yet */
} terminal;

static bool colored(int file, const char *when)
{
    const char *no_color = g_getenv("NO_COLOR");
    const char *term = g_getenv("TERM");
    if (when && strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0; /* an option goes before the environment */
    return !(no_color && *no_color) && isatty(file) && g_strcmp0(term, "dumb") != 0;
}

void rh_terminal_setup(const RhArguments *arguments, const RhCommand *command)
{
    terminal.command = command;
    terminal.out_colored = colored(STDOUT_FILENO, arguments->color);
    terminal.error_colored = colored(STDERR_FILENO, arguments->color);
    terminal.quiet = arguments->quiet;
    terminal.progress_enabled =
        isatty(STDERR_FILENO) && !arguments->quiet && !arguments->progress_disabled;
    terminal.lines_enabled =
        !isatty(STDERR_FILENO) && !arguments->quiet && !arguments->progress_disabled;
    terminal.t_start_us = terminal.t_line_us = g_get_monotonic_time();
}

double rh_terminal_left_s(double timeout_s)
{
    double spent_s = 1e-6 * (double)(g_get_monotonic_time() - terminal.t_start_us);
    return timeout_s > 0 ? fmax(timeout_s - spent_s, 1e-3) : 0;
}

bool rh_terminal_colored(void)
{
    return terminal.out_colored;
}

/* The one place of errors and hints: what they quote may hold anything. */
static void print_line(const char *given)
{
    g_autofree char *line = rh_text_plain(given);
    static const struct {
        const char *word, *color;
    } heads[] = {{"error:", "\033[1;31m"},
                 {"warning:", "\033[1;33m"},
                 {"note:", "\033[1;36m"},
                 {"help:", "\033[1;32m"}};
    for (size_t i = 0; i < G_N_ELEMENTS(heads); i++)
        if (terminal.error_colored && g_str_has_prefix(line, heads[i].word)) {
            fprintf(stderr, "%s%s\033[0m%s\n", heads[i].color, heads[i].word,
                    line + strlen(heads[i].word));
            return;
        }
    fprintf(stderr, "%s\n", line);
}

void rh_terminal_error(const char *message)
{
    rh_terminal_progress_end();
    bool headed = g_str_has_prefix(message, "error:");
    g_autofree char *typed = rh_hint_options(message, terminal.command);
    g_autofree char *text = g_strconcat(headed ? "" : "error: ", typed, NULL);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
    for (char **line = lines; *line; line++)
        print_line(*line);
}

void rh_terminal_hint(const char *line)
{
    if (!terminal.quiet)
        print_line(line);
}

bool rh_terminal_hints(bool shown)
{
    bool before = !terminal.quiet;
    terminal.quiet = !shown;
    return before;
}

/* How often a line of progress goes where no terminal is. */
#define LINE_EVERY_S 10

bool rh_terminal_progress_due(void)
{
    int64_t t_now_us = g_get_monotonic_time();
    return (terminal.progress_enabled && t_now_us - terminal.t_shown_us >= 100000) ||
           (terminal.lines_enabled &&
            t_now_us - terminal.t_line_us >= LINE_EVERY_S * G_USEC_PER_SEC);
}

void rh_terminal_progress_line(const char *line)
{
    int64_t t_now_us = g_get_monotonic_time();
    double seconds = (double)(t_now_us - terminal.t_start_us) / 1e6;
    if (!rh_terminal_progress_due())
        return;
    if (terminal.progress_enabled) {
        terminal.t_shown_us = t_now_us;
        fprintf(stderr, "\r\033[K%s  %.0f s", line, seconds);
        terminal.progress_shown = true;
    } else {
        terminal.t_line_us = t_now_us;
        fprintf(stderr, "progress: %s  %.0f s\n", line, seconds);
    }
}

void rh_terminal_progress(const char *stage, int64_t done, int64_t total, double best_s,
                          void *unused)
{
    (void)unused;
    if (!rh_terminal_progress_due())
        return;
    g_autoptr(GString) line = g_string_new(stage);
    g_string_append_printf(line, " %" G_GINT64_FORMAT, done);
    if (total > 0)
        g_string_append_printf(line, "/%" G_GINT64_FORMAT, total);
    if (isfinite(best_s) && best_s > 0)
        g_string_append_printf(line, "  best so far %.4g s", best_s);
    rh_terminal_progress_line(line->str);
}

void rh_terminal_progress_end(void)
{
    if (terminal.progress_shown)
        fputs("\r\033[K", stderr);
    terminal.progress_shown = false;
}
