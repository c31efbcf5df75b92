#pragma once
/* Splits a shell script into its commands and their words, without running anything.
 *
 * Quotes, backslashes, comments, continued lines, here-documents, variables (NAME=..., ${NAME},
 * ${NAME:-default}), whole-number arithmetic ($((NODES * 8))) and arrays (ARGS=(...), ARGS+=(...),
 * "${ARGS[@]}") are replaced as a shell would. A variable that the script does not set stays in the
 * word as $NAME, and so does the output of a command, $(...): the word is then not `whole`. Tests
 * ([ "$X" = 1 ] and the like) whose words are whole choose a branch of `if`; of a branch that cannot
 * be told, commands count and `uncertain` says so. The body of `for NAME in WORDS` is read for each word where
 * all are known; that of another loop once.
 *
 *     g_autoptr(RhShell) shell = rh_shell_parse("train.sh", text, length, error);
 *     for (guint i = 0; i < shell->commands->len; i++) {
 *         const RhShellCommand *command = shell->commands->pdata[i];
 *         ... rh_shell_word(command, 0)->text ... } */
#include <glib.h>
#include <stdbool.h>

typedef struct {
    char *text;
    size_t offset, span; /* where it was written in the script */
    bool whole;          /* nothing in it is unknown */
} RhShellWord;

typedef struct {
    GPtrArray *words;       /* owned RhShellWord*; those of redirections are left out */
    GPtrArray *environment; /* owned RhShellWord*: "NAME=value" before its first word */
    char *input;            /* of a here-document; NULL: none */
    size_t input_offset;    /* of it in the script */
    char *output;           /* the file behind ">", as of `cat > FILE <<END`; NULL: none */
    bool uncertain;         /* stands in a branch that may not be taken */
} RhShellCommand;

typedef struct {
    char *name, *text; /* the script; `text` is NUL-ended */
    size_t length;
    GPtrArray *commands; /* owned RhShellCommand*, in the script's order */
    GPtrArray *
        directives; /* owned RhShellCommand*: comments that tell a scheduler what to allocate, "#SBATCH ...", split */
    GHashTable *variables; /* name -> its last value, as text; arrays joined with spaces */
} RhShell;

/* RH_ERROR_INPUT with file:line:col: an open quote, over 1 MiB, words that grow past 8 MiB. */
RhShell *rh_shell_parse(const char *name, const char *text, size_t length,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhShell *rh_shell_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_shell_free(RhShell *shell);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhShell, rh_shell_free)

/* Returns a word of a command; NULL behind the last one. */
const RhShellWord *rh_shell_word(const RhShellCommand *command, guint index);
/* Sets RH_ERROR_INPUT with the line of the script at `offset`; returns false. */
bool rh_shell_fail(const RhShell *shell, size_t offset, size_t span, const char *message,
                   const char *help, GError **error);
