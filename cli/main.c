/* rehearse: the command line. One table of subcommands (commands.c), one option layer (options.c);
 * the error code alone decides the exit status. */
#include <gsl/gsl_errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "base/shell/shell_quote.h"
#include "base/text/text_input.h"
#include "cli/command_dispatch.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands_table.h"
#include "cli/version.h"
#include "sim/engine/workers/multi_machine_pool.h"

static int report_error(const GError *error, int argc, char **argv)
{
    int status = rh_exit_status(error);
    rh_terminal_error(error->message);
    if (status == 70) { /* the words again: what somebody reporting a bug should paste */
        g_autoptr(GString) line = g_string_new("rehearse");
        if (argc > 1)
            rh_shell_append(line, (const char *const *)argv + 1);
        fprintf(stderr,
                "note: this is a bug of rehearse; please report it with this line:\n"
                "  rehearse %s: %s\n",
                RH_VERSION, line->str);
    }
    return status;
}

/* `rehearse`, `rehearse -h`, `rehearse --version`: answered without a command. */
static const char *word_of_first(const char *word)
{
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return "help";
    return word;
}

/* Words come back in reports, and in files whose lines they would break. */
static bool check_words(int argc, char **argv, GError **error)
{
    for (int i = 1; i < argc; i++)
        if (!rh_text_is_plain(argv[i]))
            return rh_fail(error, RH_ERROR_USAGE,
                           "word %d holds a control character or a line break, or is not UTF-8: %s",
                           i, argv[i]);
    return true;
}

static int run_words(int argc, char **argv, GError **error)
{
    rh_commands = rh_command_table;
    if (!check_words(argc, argv, error))
        return 2;
    const char *name = argc > 1 ? word_of_first(argv[1]) : "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return rh_version_run(argc - 2, argv + 2, error);
    if (argc == 1) {
        rh_help_commands(stderr);
        return 2;
    }
    if (name[0] == '-') {
        rh_fail(error, RH_ERROR_USAGE,
                "%s stands before the command\nhelp: write `rehearse COMMAND %s ...`", name, name);
        return 2;
    }
    const RhCommand *command = rh_command_by_name(name);
    if (!command) {
        rh_command_fail_unknown(name, error);
        return 2;
    }
    return rh_run_command(command, argc - 2, argv + 2, error);
}

/* GLib ends the process when memory runs out, and says so here first. A worker's last words go to
 * who started it. */
static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields, gsize count,
                                  gpointer user)
{
    static const char words[] = "error: no answer: memory ran out (failed to allocate)\n";
    for (gsize i = 0; (level & G_LOG_LEVEL_ERROR) && i < count; i++)
        if (strcmp(fields[i].key, "MESSAGE") == 0 && fields[i].length < 0 &&
            strstr(fields[i].value, "failed to allocate")) {
            ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
            _exit(written < 0 ? 70 : 1);
        }
    return g_log_writer_default(level, fields, count, user);
}

int main(int argc, char **argv)
{
    g_log_set_writer_func(write_log, NULL, NULL);
    setlocale(LC_CTYPE, "");
    gsl_set_error_handler_off();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its writer */
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK);
    GError *error = NULL;
    int status = run_words(argc, argv, &error);
    rh_rank_pool_end();
    if (error) {
        status = report_error(error, argc, argv);
        g_error_free(error);
    }
    rh_supervisor_end();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        rh_terminal_error("standard output could not be written");
        return 3;
    }
    return status;
}
