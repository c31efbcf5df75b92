#pragma once
/* The one option layer. A command lists tables of options; parsing, `-h`, `--help`, and shell
 * completions are made from the same rows.
 *
 *     static const RhOption own[] = {
 *         RH_OPTION(top, "top", 0, RH_OPTION_INTEGER, "K", "how many plans to list",
 *                   .otherwise = "5", .low = 1, .high = 50),
 *         {0}}; */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "cli/parse/parsed_arguments.h"

typedef enum {
    RH_OPTION_NONE,
    RH_OPTION_FLAG,     /* bool */
    RH_OPTION_COUNT,    /* int64_t, one more each time: -v -v */
    RH_OPTION_TEXT,     /* const char* */
    RH_OPTION_LIST,     /* GPtrArray of const char*, repeatable */
    RH_OPTION_INTEGER,  /* int64_t in [low, high] */
    RH_OPTION_QUANTITY, /* double, of kind `quantity` */
    RH_OPTION_CHOICE,   /* const char*, one of `choices` */
} RhOptionKind;

typedef struct {
    const char *name; /* without the dashes; NULL ends a table */
    const char *also; /* another name that is understood, and nowhere listed; NULL: none */
    char letter;      /* 0: none */
    RhOptionKind kind;
    size_t offset;         /* of the field in RhArguments */
    const char *value;     /* placeholder in the help */
    const char *help;      /* one line */
    const char *otherwise; /* default, read like a typed value; NULL: none */
    const char *implied;   /* the value when none follows; NULL: one must */
    const char *choices;   /* "bf16|fp16" */
    RhQuantity quantity;
    int64_t low, high;
    bool positive;                     /* a quantity must be more than 0 */
    const char *const *(*names)(void); /* what the value may be, beside files: for completions */
    bool names_told;                   /* the help lists these names */
    bool layout_keys; /* the value begins with a key of a layout: words for completions */
    bool required;
    bool usual;  /* most inputs need it: said along where something required is missing */
    bool binary; /* of an integer: k stands for 1,024 */
    const char
        *unless; /* options ("a|b") in place of which it stands: required where none of them is
                           given, and never with one */
    const char *or_else; /* options ("a|b") with one of which it need not be given, and may be */
    bool several;        /* a choice: one or more, by commas */
    bool neutral;        /* cannot change the result: left out of the recorded argv */
} RhOption;

#define RH_OPTION(field, long_name, short_letter, kind_, value_, help_, ...)                       \
    {                                                                                              \
        .name = long_name, .letter = short_letter, .kind = kind_,                                  \
        .offset = G_STRUCT_OFFSET(RhArguments, field), .value = value_, .help = help_,             \
        ##__VA_ARGS__                                                                              \
    }

/* A word that a command's first operand may be, and what the second may be then. */
typedef struct RhTopic {
    const char *name;
    const char *const *(*names)(void); /* NULL: nothing known */
} RhTopic;

/* Kinds of work that the ranks of an MPI job may do for a command. */
typedef enum {
    RH_RANKS_NONE,  /* nothing */
    RH_RANKS_POOLS, /* perform items of its pools (sim/engine/workers/multi_machine_pool.h) */
    RH_RANKS_OWN,   /* what it hands out itself */
} RhRankWork;

typedef struct {
    const char *name;
    const struct RhTopic *topics; /* what the first operand may be; NULL: files */
    const char *operands;         /* as shown in the usage line, "" for none */
    int32_t operands_low, operands_high;
    bool
        operand_is_layout; /* plan.json#RANK in place of --strategy and of the question's options */
    const char *summary;   /* one line */
    const char *about;     /* --help: what it does, how to read the answer */
    char *(*about_rows)(void);     /* lines that follow it, made from a table; NULL: none */
    const char *examples;          /* --help: commands to copy, one a line */
    const RhOption *const *tables; /* NULL-ended */
    RhRankWork ranks;
    int (*run)(const RhArguments *arguments, GError **error); /* exit status; error when it fails */
} RhCommand;

/* Reads words[0 .. count-1] (without program and command). RH_ERROR_USAGE. `arguments` borrows from
 * `words`. With --help or -h given, requirements are not checked. */
bool rh_options_parse(const RhCommand *command, int count, char **words, RhArguments *arguments,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* How inputs are written, as lines. */
extern const char rh_help_inputs[];
/* "0 answer found, ...": lines. */
extern const char rh_help_exit_status[];
/* Texts, caller frees. */
/* "what it is: a, b (needed); repeatable", of an option of this command. */
char *rh_option_text(const RhCommand *command, const RhOption *option);
/* Is a required option, before it in the tables, one that it may stand in place of? */
bool rh_option_has_stand_in(const RhCommand *command, const RhOption *option);
char *rh_options_help_short(const RhCommand *command);
/* Returns the description of a command, with the rows of its table. Caller frees. */
char *rh_command_about(const RhCommand *command);
char *rh_options_help_long(const RhCommand *command);
/* The row of a command with this long name; NULL when it has none. */
const RhOption *rh_options_find(const RhCommand *command, const char *name, size_t length);
