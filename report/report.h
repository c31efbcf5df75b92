#pragma once
/* Results as text, JSON, CSV and Markdown. Formats what is there and computes nothing but shares,
 * differences and the choice of what to show. Every function returns a text the caller frees. */
#include "report/question.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/rehearse.h"

typedef struct {
    bool colored;
    int verbosity;
    bool timeless;        /* for a file: the same bytes however long the search took */
    int steps;            /* how many were rehearsed, for a run */
    const char *saved_as; /* a JSON file the result was written to, for the `next:` line; or NULL */
} RhReportStyle;

/* What a rate counts, "samples" of pictures or tokens: in texts, and as a key. */
const char *rh_report_unit(bool pictures);
const char *rh_report_rate_key(bool pictures);

char *rh_report_plan_text(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options,
                          const RhReportStyle *style);
char *rh_report_plan_json(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options);
char *rh_report_plan_csv(const RhPlan *plan);
char *rh_report_plan_markdown(const RhQuestion *q, const RhPlan *plan,
                              const RhPlanOptions *options);

/* `run` may be NULL (closed forms). */
char *rh_report_run_text(const RhQuestion *q, const RhRehearsal *r, const RhRun *run,
                         const RhReportStyle *style);
char *rh_report_run_json(const RhQuestion *q, const RhRehearsal *r);
/* The document where the rehearsal came to no answer: no figures, whether time was up, and why. */
char *rh_report_run_unanswered_json(const RhQuestion *q, const RhLayout *layout, bool timed_out,
                                    const char *why);
char *rh_report_run_csv(const RhRehearsal *r);
char *rh_report_run_markdown(const RhQuestion *q, const RhRehearsal *r);

/* --- parts --- */
/* The share of the step that terms of this name take, anywhere in the tree; 0 without a tree. */
double rh_report_share(const RhRehearsal *r, const char *name);
double rh_report_bubble_frac(const RhRehearsal *r);
double rh_report_exposed_frac(const RhRehearsal *r); /* communication not hidden behind kernels */
/* How far off the step may be: "+-4.7 %: within that were 80 % of 22 measured steps of megatron, ...",
 * or why that is not known. Caller frees. */
char *rh_report_error(const RhRehearsal *r);
/* Its share of the step, 0 where it is not known or the step is a bound. */
double rh_report_error_frac(const RhRehearsal *r);
/* Is its MFU of bf16's peak, as one is where nothing else is said? */
bool rh_report_mfu_plain(const RhRehearsal *r);
/* Of what peak it is: "of fp8's peak; 70.2 % of bf16's". Caller frees. */
char *rh_report_mfu_peak(const RhRehearsal *r);
/* What the objective has least of: "62.4 s/step", with its money or energy, "71.3 GiB". Caller frees. */
char *rh_report_worth(RhObjective objective, const RhRehearsal *r);
/* How surely the memory suffices: "98 % that the memory suffices: of 89 measured runs ..."; NULL where
 * no such runs are known. Caller frees. */
char *rh_report_odds(const RhRehearsal *r);
/* The same without what it is of: "98 % that the memory suffices". */
char *rh_report_odds_brief(const RhRehearsal *r);
/* Both, as lines. */
void rh_report_trust(GString *out, const RhRehearsal *r);
/* As it is said on the command line: "--gpus 128", "without --limit memory<=50%". Caller frees. */
char *rh_report_change(const RhSmallestChange *change);
/* Top terms of a tree, with the rank that waits longest for each; `run` may be NULL. */
void rh_report_terms(GString *out, const RhCost *costs, double step_s, const RhRun *run);
/* "busiest links: ...", RhLinkUse; nothing where there are none. */
void rh_report_links(GString *out, const GArray *links);
/* Term, seconds, share, source; indented by depth. */
void rh_report_tree(GString *out, const RhCost *root, double whole_s);
typedef struct {
    const char *name;
    double a_s, b_s;
} RhTermPair;
/* Every top term of either tree, largest difference first: RhTermPair, caller frees. */
GArray *rh_report_pairs(const RhCost *a, const RhCost *b);
/* Top terms of two rehearsals side by side, by the size of the difference. */
void rh_report_versus(GString *out, const char *name_a, const RhRehearsal *a, const char *name_b,
                      const RhRehearsal *b);
/* The same of two trees, under a heading; `whole` names their roots. */
void rh_report_versus_trees(GString *out, const char *heading, const char *whole,
                            const char *name_a, const RhCost *a, const char *name_b,
                            const RhCost *b);
/* One or two clauses: what `a` does faster than `b`, and what it pays for it; NULL when a tree is
 * missing. */
char *rh_report_reason(const RhRehearsal *a, const RhRehearsal *b, const char *name_b);
/* "stack: megatron (default); ..." and "numbers: GEMM f, ...": what an answer stands on. */
void rh_report_sources(GString *out, const RhQuestion *q);
