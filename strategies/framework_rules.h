#pragma once
/* Rules of frameworks: the layouts that a framework refuses, as data files
 * (strategies/frameworks/NAME.json) with the place in its source that says so. Used by the search,
 * by launches and by explanations. */
#include "strategies/knobs.h"
#include "strategies/layout.h"
#include "strategies/training_problem.h"

typedef struct {
    const char *when;  /* "zero>=2,pp>1" */
    const char *why;   /* "has ZeRO-2 without a pipeline only"; interned, as all */
    const char *help;  /* words of plan that go around it */
    const char *where; /* file:line of the project */
    bool launch_only;  /* a limit of the launches that are written here, not of the framework */
    struct RhRuleTerm *terms;
    int32_t terms_count;
    uint64_t knobs; /* RH_KNOB_BIT of those that it looks at */
} RhFrameworkRule;

typedef struct {
    const char *name, *title, *project;
    RhFrameworkRule *rules;
    int32_t rules_count;
} RhFrameworkRules;

/* RH_ERROR_INPUT with file:line:col. Caller frees. */
RhFrameworkRules *rh_framework_rules_load(const char *name,
                                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_framework_rules_free(RhFrameworkRules *rules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFrameworkRules, rh_framework_rules_free)
/* Borrowed, for ever. NULL without an error: the name is NULL. RH_ERROR_USAGE: there is none of
 * that name; else as rh_framework_rules_load(). A stack's are known to be right since it was
 * read. */
const RhFrameworkRules *rh_framework_rules(const char *name,
                                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
const char *const *rh_framework_rules_names(void);

bool rh_framework_refuses(const RhFrameworkRule *rule, const RhProblem *c, const RhLayout *layout);
/* The first rule that the layout breaks; NULL: none, or no rules. Some tens of nanoseconds. */
const RhFrameworkRule *rh_framework_refusal(const RhFrameworkRules *rules, const RhProblem *c,
                                            const RhLayout *layout);
/* Returns the first broken rule of those that read only these knobs, when the others are not set
 * yet; NULL: none. */
const RhFrameworkRule *rh_framework_refusal_given(const RhFrameworkRules *rules, const RhProblem *c,
                                                  const RhLayout *layout, uint64_t knobs);
/* Returns the first broken rule that reads this knob; NULL: none. */
const RhFrameworkRule *rh_framework_refusal_by(const RhFrameworkRules *rules, const RhProblem *c,
                                               const RhLayout *layout, const RhKnob *knob);
/* "Megatron-LM repeats no key-value heads: tp does not divide them (megatron/core/x.py:758 of
 * NVIDIA/...)". Caller frees. */
char *rh_framework_refusal_text(const RhFrameworkRules *rules, const RhFrameworkRule *rule);
/* Returns that text for the framework of the problem's stack; NULL: it accepts the layout, or there
 * is no framework. The caller frees it. */
char *rh_framework_refused(const RhProblem *c, const RhLayout *layout);
/* Sets RH_ERROR_USAGE with the text, `notes` (further lines, or "") and the rule's help; returns
 * false. */
bool rh_framework_fail(const RhFrameworkRules *rules, const RhFrameworkRule *rule,
                       const char *notes, GError **error);
