#pragma once
/* Shared by the files that run a suite (suite.c, suite_program_predictions.c, suite_perform.c); nobody else
 * includes it. */
#include "platforms/platform.h"
#include "sim/program.h"
#include "sim/program_result.h"
#include "strategies/software_stack.h"
#include "validate/suites/suite.h"
#include "validate/suites/suite_cases.h"
#include "workloads/model.h"

/* Other work, or a hypervisor, that takes more of the processors spoils a measurement. */
#define RH_SUITE_BUSY_FRAC 0.05

/* One case on its way. */
typedef struct {
    const RhSuiteCase *row;
    RhProgram *program; /* owned */
    RhRun *run;         /* owned; the rehearsal, with its timeline */
    char *name;         /* owned; of its files */
    char *stuck;        /* owned; NULL, or where the rehearsal's ranks wait for ever */
    guint index;        /* of its case in the validation */
    guint network;      /* into networks */
    double stolen_frac; /* of the processors, by a hypervisor, in the steps that count */
} RhSuiteItem;

/* A platform, and what was changed of it: cases on the same one are performed in one launch. */
typedef struct {
    const char *spec, *change; /* change: NULL for none */
    RhPlatform *platform;      /* owned */
} RhSuiteNetwork;

typedef struct {
    const RhSuite *suite;
    const RhSuiteOptions *options;
    RhValidation *v;
    RhModel *model;
    RhModel *mixture;  /* of layouts that spread experts */
    RhModel *pictures; /* of layouts that cut pictures, or have two copies of a model */
    const RhStack *stack;
    char *folder, *profile; /* owned; profile: NULL until calibrated */
    GArray *items;          /* RhSuiteItem */
    GArray *networks;       /* RhSuiteNetwork */
    int32_t done, total;
    double other_s, all_s;  /* processor time while we measured: of others, in all */
    int32_t repeated_count; /* steps that it disturbed */
} RhSuiteRun;

static inline RhSuiteItem *rh_suite_item(const RhSuiteRun *s, guint i)
{
    return &g_array_index(s->items, RhSuiteItem, i);
}

/* Even its calmest steps say nothing. */
static inline bool rh_suite_disturbed(const RhSuiteItem *item)
{
    return item->stolen_frac > RH_SUITE_BUSY_FRAC;
}

static inline RhSuiteNetwork *rh_suite_network(const RhSuiteRun *s, guint i)
{
    return &g_array_index(s->networks, RhSuiteNetwork, i);
}

static inline RhValidationCase *rh_suite_case(const RhSuiteRun *s, const RhSuiteItem *item)
{
    return &g_array_index(s->v->cases, RhValidationCase, item->index);
}

/* A case whose link dies: it must end, not finish. */
bool rh_suite_dies(const RhSuiteItem *item);
/* FOLDER/NAME + ending; caller frees. */
char *rh_suite_path(const RhSuiteRun *s, const RhSuiteItem *item, const char *ending);
void rh_suite_tell(RhSuiteRun *s, const char *what);
void rh_suite_skip(RhValidationCase *c, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* --- predictions --- */
/* The platform of a spec, calibrated if that was done, with the suite's changes and
 * `change`, as --set, apart by spaces. */
RhPlatform *rh_suite_platform(const RhSuiteRun *s, const char *spec, const char *change,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Builds a row's program, predicts it and writes it. */
bool rh_suite_add(RhSuiteRun *s, const RhSuiteCase *row, guint network,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Predictions of SMPI for the cases of a network. */
bool rh_suite_ask_smpi(RhSuiteRun *s, guint network, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* --- real runs --- */
/* Performs the cases of a network in the lab. */
void rh_suite_perform(RhSuiteRun *s, guint network);
/* Where there is no lab: every case is skipped, their data is checked through shared memory. */
void rh_suite_fall_back(RhSuiteRun *s, const char *why);
