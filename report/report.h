#pragma once
/* Formats results as text, JSON, CSV and Markdown. It computes nothing but shares, differences and
 * the choice of rows. Every function returns a text the caller frees. */
#include "report/question.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/rehearse.h"

typedef struct {
    bool colored;
    int verbosity;
    bool timeless;        /* omit the search's duration, so that files are reproducible */
    int steps;            /* runs: number of rehearsed steps */
    const char *saved_as; /* JSON file of the result, for the `next:` line; or NULL */
} RhReportStyle;

/* Return the unit of a rate, "samples" of pictures or tokens: in texts, and as a key. */
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
/* Formats the document of a rehearsal without an answer: no figures, whether the timeout was
 * reached, and why. */
char *rh_report_run_unanswered_json(const RhQuestion *q, const RhLayout *layout, bool timed_out,
                                    const char *why);
char *rh_report_run_csv(const RhRehearsal *r);
char *rh_report_run_markdown(const RhQuestion *q, const RhRehearsal *r);

/* --- parts --- */
/* Names a use of memory in texts; programs and JSON call it by rh_memory_name(). */
const char *rh_report_memory_name(RhMemoryUse use);
/* Returns the share of the step in terms of this name, anywhere in the tree; 0 without a tree. */
double rh_report_share(const RhRehearsal *r, const char *name);
double rh_report_bubble_frac(const RhRehearsal *r);
double rh_report_exposed_frac(const RhRehearsal *r); /* communication not hidden behind kernels */
/* Describes the step's error bar: "±4.7 %: 80 % of 22 comparable measured runs were within it (megatron
 * ...)", or why it is unknown. Caller frees. */
char *rh_report_error(const RhRehearsal *r);
/* Returns the error bar as a fraction of the step; 0 where it is unknown or the step is a bound. */
double rh_report_error_frac(const RhRehearsal *r);
/* Returns whether its MFU refers to bf16's peak, the default. */
bool rh_report_mfu_plain(const RhRehearsal *r);
/* Describes the peak of its MFU: "of fp8's peak; 70.2 % of bf16's". Caller frees. */
char *rh_report_mfu_peak(const RhRehearsal *r);
/* Formats the value that the objective minimises: "62.4 s/step", with its money or energy, "71.3
 * GiB". Caller frees. */
char *rh_report_worth(RhObjective objective, const RhRehearsal *r);
/* Describes how likely the layout fits: "98 % likely to fit at 94 % full; from 89 measured runs ..."; NULL
 * without such runs. Caller frees. */
char *rh_report_odds(const RhRehearsal *r);
/* Describes how likely the layout fits, without the evidence: "98 % likely to fit". */
char *rh_report_odds_brief(const RhRehearsal *r);
/* Appends error bar and odds as lines. */
void rh_report_trust(GString *out, const RhRehearsal *r);
/* Formats a change as command-line words: "--gpus 128", "without --limit memory<=50%". Caller
 * frees. */
char *rh_report_change(const RhSmallestChange *change);
/* Appends the top terms of a tree, with the rank that spends most on each; `run` may be NULL. */
void rh_report_terms(GString *out, const RhCost *costs, double step_s, const RhRun *run);
/* Appends the busiest links from RhLinkUse; nothing without links. */
void rh_report_links(GString *out, const GArray *links);
/* Appends a line per term: name, seconds, share, source; indented by depth. If brief, the top terms
 * are sorted by size, small ones summed, and sources shortened. */
void rh_report_tree(GString *out, const RhCost *root, double whole_s, bool brief);
typedef struct {
    const char *name;
    double a_s, b_s;
} RhTermPair;
/* Returns every top term of either tree, largest difference first: RhTermPair, caller frees. */
GArray *rh_report_pairs(const RhCost *a, const RhCost *b);
/* Appends the top terms of two rehearsals side by side, by the size of the difference. */
void rh_report_versus(GString *out, const char *name_a, const RhRehearsal *a, const char *name_b,
                      const RhRehearsal *b);
/* Appends the comparison of two trees under a heading; `whole` names their roots. */
void rh_report_versus_trees(GString *out, const char *heading, const char *whole,
                            const char *name_a, const RhCost *a, const char *name_b,
                            const RhCost *b);
/* Describes in one or two clauses where `a` is faster than `b` and where slower; NULL when a tree
 * is missing. */
char *rh_report_reason(const RhRehearsal *a, const RhRehearsal *b, const char *name_b);
/* Appends the job: "job: llama-3.1-8b on 32 GPUs of dgx-h100, 64 samples of 8,192 tokens a step, bf16, framework
 * megatron (default)". */
void rh_report_job(GString *out, const RhQuestion *q);
/* Returns ", 4 processes on each (mps)", or "" where a process has a GPU to itself; caller frees. */
char *rh_report_sharing(const RhJob *job);
/* ", DPO: a sample is a pair", "" for other jobs. Caller frees. */
char *rh_report_preference(const RhJob *job);
/* Returns the layout in words, with the layers of each pipeline stage: "tp2 pp8 ..., ZeRO-1; layers per stage: 11, 10 (6
 * times), 9". Caller frees. */
char *rh_report_layout_title(const RhProblem *c, const RhLayout *layout);
/* Appends the command that explains the answer, whose place in its file is `rank`; the file is
 * where the answer was saved, or `example`. */
void rh_report_next(GString *out, const RhReportStyle *style, const char *example,
                    const char *rank);
/* Appends which constants are measured, fitted, from data sheets or assumed. */
void rh_report_sources(GString *out, const RhQuestion *q);
