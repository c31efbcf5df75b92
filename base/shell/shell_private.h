#pragma once
/* Variables and expansion of shell words. Private to the files of base/shell_*. */
#include "base/shell/shell_script.h"

#define RH_SHELL_NAME G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_"

/* Result of a test; unknown where its words are. */
typedef enum { RH_TRUTH_UNKNOWN, RH_TRUTH_YES, RH_TRUTH_NO } RhTruth;

typedef struct {
    RhShell *shell;
    GHashTable *values; /* name -> owned GPtrArray of owned RhShellWord*: one, or an array's */
    size_t bytes;       /* that expansion made */
    int depth;          /* of defaults inside defaults */
    GError **error;
} RhShellState;

RhShellWord *rh_shell_word_new(char *text, size_t offset, size_t span, bool whole);
void rh_shell_word_free(void *word);
GPtrArray *rh_shell_words_new(void);
/* Expands the raw text [offset, offset + span) of the script and appends its words. False: with
 * the error. */
bool rh_shell_expand(RhShellState *s, size_t offset, size_t span, GPtrArray *words);
/* Expands a text without splitting it, as the value of an assignment; caller frees. `quoted`: it
 * is the body of a here-document. NULL: with the error. */
char *rh_shell_expand_text(RhShellState *s, const char *raw, size_t offset, bool quoted,
                           bool *whole);
/* Returns the length of the raw word at `text`, quotes and substitutions skipped whole; of one that
 * is never closed it sets *open to what opened it. */
size_t rh_shell_span(const char *text, const char *ends, char *open);
/* Reads whole-number arithmetic in which names stand for variables. False: something is unknown. */
bool rh_shell_arithmetic(const RhShellState *s, const char *text, int64_t *value);
/* Returns the text of a variable, an array's elements joined by spaces, caller frees; NULL: it is
 * not set. */
char *rh_shell_value(const RhShellState *s, const char *name, bool *whole);
/* Returns what a test such as `[ "$X" = 1 ]` says. */
RhTruth rh_shell_test(const GPtrArray *words);

/* --- the script as it is read --- */

/* Words that the body of a loop is still read for: `for NAME in a b c`. */
typedef struct {
    char *name;
    GPtrArray *words; /* owned RhShellWord* */
    guint next;
    size_t body; /* offset behind the words */
} RhShellLoop;

/* An if, a case, or a loop that is open. */
typedef struct {
    enum { FRAME_IF, FRAME_CASE, FRAME_LOOP } kind;
    RhTruth active;    /* of the branch that is read */
    RhTruth taken;     /* of an earlier branch */
    bool asks;         /* the condition is read, or a pattern is due */
    RhTruth asked;     /* what its last command says */
    char *subject;     /* of a case; NULL: not known */
    RhShellLoop *loop; /* owned; NULL: its words are not known */
} RhShellFrame;

/* A here-document whose body follows the line. */
typedef struct {
    RhShellCommand *command; /* borrowed; NULL: nobody reads it */
    char *ending, *variable; /* variable: `read VAR <<END` sets it */
    bool quoted, tabs;
} RhShellHere;

typedef struct {
    RhShellState state;
    RhShell *shell;
    const char *text;
    size_t at;
    GArray *frames, *heres; /* RhShellFrame, RhShellHere */
    RhTruth before;         /* what the command before "&&" or "||" says */
    char joined;            /* '&' or '|' when one of these stands before the command; 0 */
    size_t repeated;        /* bytes of loops that were read again */
} RhShellReader;

/* Returns the innermost open frame; NULL: none. */
RhShellFrame *rh_shell_top_frame(const RhShellReader *r);
bool rh_shell_push_frame(RhShellReader *r, RhShellFrame frame);
void rh_shell_pop_frame(RhShellReader *r);
/* Says whether what is read now is performed. */
RhTruth rh_shell_active(const RhShellReader *r);
/* Chooses a branch: `says` of its own condition. */
void rh_shell_choose(RhShellFrame *f, RhTruth says);
/* Stores a value, or appends it to an array or to a text; takes it. In a branch that may not be taken
 * only what has no value yet is stored. */
bool rh_shell_store(RhShellReader *r, const char *name, GPtrArray *value, bool append, bool array);
/* Opens the loop of a command `for NAME in WORDS`, and sets NAME to the first of them. */
bool rh_shell_begin_loop(RhShellReader *r, const RhShellCommand *command);
/* Ends one reading of a loop's body at its `done`: goes back to the body for the next word, or closes
 * the loop. */
bool rh_shell_end_loop(RhShellReader *r);
void rh_shell_loop_free(RhShellLoop *loop);
/* Acts on a reserved word at the start of a command; *known: it is one. */
bool rh_shell_read_reserved(RhShellReader *r, const char *word, bool *known);
