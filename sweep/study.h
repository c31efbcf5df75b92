#pragma once
/* Studies: one command, asked for every combination of some of its options.
 *
 *     {"schema": "rehearse.study/1",
 *      "command": "simulate",
 *      "options": {"workload": "llama-3.1-8b", "seq": "8k", "strategy": "tp{tp},pp{pp},mb1"},
 *      "axes": [{"platform": ["dgx-h100:4", "dgx-b200:4"], "global-batch": [128, 256]},
 *               {"tp": [1, 2, 4]}, {"pp": {"from": 1, "to": 8, "times": 2}}],
 *      "where": ["tp * pp <= 16"],
 *      "except": [{"platform": "dgx-b200:4", "pp": 8}]}
 *
 * Members of one object of "axes" advance together, objects are crossed, the last one quickest. An
 * axis is an option of the command, or a name that stands as {name} in the value of one. This module
 * knows no command: whoever loads a study says which there are. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"

#define RH_STUDY_ITEMS_MAX 2000000 /* combinations before filters */

/* One question of a study. */
typedef struct {
    char **words;  /* of the command, without its name: "--seq=8k"; NULL-ended */
    char **values; /* of the axes, as text; "" for one that is left out; NULL-ended */
    char *key;     /* hash of the version, the words and the files that they name: 32 hex digits */
} RhStudyItem;

typedef enum {
    RH_STUDY_OPTION_NONE, /* the command has no such option */
    RH_STUDY_OPTION_FLAG,
    RH_STUDY_OPTION_VALUE,
    RH_STUDY_OPTION_REFUSED, /* shapes the output: not a study's to say */
} RhStudyOption;

/* Commands that a study may ask, and their options. */
typedef struct {
    const char *const *commands; /* NULL-ended */
    RhStudyOption (*option)(const char *command, const char *option);
    /* Checks the words of an item; the error is about these. */
    bool (*check)(const char *command, char **words, GError **error);
    const char *version; /* of the program, part of every key */
} RhStudyRules;

typedef struct {
    char *path, *about;
    const char *command; /* interned */
    GPtrArray *axes;     /* const char*, interned: in the order of the file */
    GPtrArray *items;    /* RhStudyItem*, owned: in the order of the combinations */
    GPtrArray *columns;  /* const char*, interned: patterns of "columns"; empty: the usual ones */
    double timeout_s;    /* of an item; 0: none */
} RhStudy;

/* Loads a study and makes its items. RH_ERROR_IO; RH_ERROR_INPUT with positions. */
RhStudy *rh_study_load(const char *path, const RhStudyRules *rules,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_study_free(RhStudy *study);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStudy, rh_study_free)
/* Returns the line to type for an item: "rehearse simulate --seq=8k". Caller frees. */
char *rh_study_line(const RhStudy *study, const RhStudyItem *item);
