#pragma once
/* Interprets the words of published tables by rules in data (validate/data/published.json):
 *
 *     {"when": {"source": "Aleph Alpha*", "note": ["*kernel=torch;*"]}, "stack": "...",
 *      "source": "where this fact is stated"}
 *
 * A rule applies to a row whose cells match (all named columns, each by one of its patterns with *
 * and ?, ignoring case). Each aspect of a run is set by the first applicable rule that has it. A
 * rule's "stands_in" names properties of the run that are replaced by the nearest supported ones;
 * it counts where the rule sets something, or where it sets nothing else.
 *
 * A rule that was chosen by looking at measured rows, and not read in a script or a document, says
 * which: "chosen_on": "these rows" (those it applies to), or conditions like those of "when". It is
 * withheld from predictions of groups that hold such rows (validate/serving/served_cross_validation.h). A rule
 * that names a model, a GPU and a concurrency needs it, or a source that is a file at a commit. */
#include "base/json/json.h"
#include "validate/cases/cases_table.h"

/* ROW(enum's word, key) */
#define RH_CASE_ASPECTS(ROW)                                                                          \
    ROW(SKIP, "skip")         /* why the run cannot be expressed */                                   \
    ROW(STANDING, "standing") /* "from memory", "computed" */                                         \
    ROW(FITTED, "fitted")     /* constant that was fitted to such rows */                             \
    ROW(TABLE, "table")       /* its table, for all versions */                                       \
    ROW(STEPS, "steps")       /* the same rows' source in calibrate/data/published-steps.csv */       \
    ROW(PLATFORM, "platform") /* name in the catalogue, without nodes */                              \
    ROW(SET, "set")           /* "nic.efficiency=0.5": a fact of the row's own cluster */             \
    ROW(MODEL, "model")       /* catalogue name; sizes of the row go over it */                       \
    ROW(SIZE, "size")         /* "layers=4": of the model, where no column holds it */                \
    ROW(STACK, "stack")                                                                               \
    ROW(RECIPE, "recipe")                                                                             \
    ROW(LAYOUT, "layout") /* knobs that no column holds: "etp1 vpp8"; of a service: its degrees */    \
    ROW(OVERLAP, "tensor_overlap") /* "on": tensor collectives beside their GEMMs */                  \
    ROW(RECOMPUTE, "recompute")                                                                       \
    ROW(LORA, "lora")           /* adapters alone are trained: "16:linear_qkv" */                     \
    ROW(GRADIENTS, "gradients") /* main gradients in "bf16" or "fp32"; else the stack's */            \
    ROW(WEIGHTS, "weights")     /* layers' in the recipe's format alone: "narrow"; or "wide" */       \
    ROW(ATTENTION, "attention") /* "fp8": its core reads fp8, too; or "wide" */                       \
    ROW(MOMENTS, "moments")     /* the optimizer's two: a name of RhAdamMoments; else fp32 */         \
    ROW(ZERO, "zero")                                                                                 \
    ROW(ROUNDS,                                                                                       \
        "rounds") /* "8": a step ran as so many, each of its share of the batch and with   \
                             no exchange among replicas */          \
    ROW(MICROBATCH, "microbatch") /* a number, or "quickest": of 1, 2, 4, 8 that fits */              \
    ROW(FLOPS, "flops")           /* what a figure of TFLOP/s counts: "model" */                      \
    ROW(PEAK, "peak") /* what a peak counts: "allocated" or "reserved" (stream_memory_pools.h) */     \
    ROW(SERVER, "server")         /* a name of strategies/serve/servers */                            \
    ROW(POOLS, "pools")           /* a whole deployment, "tp8,replicas=1/tp8,replicas=9" */           \
    ROW(DEPLOYMENT, "deployment") /* keys that no column holds: "batch=clients,kv=fp8" */             \
    ROW(SPECULATION,                                                                                  \
        "speculation") /* "none"; "draft=3,accept=67": are guessed; "unknown draft=3,...": perhaps */ \
    ROW(VERSION, "version")         /* of the engine: "unknown", or "known" */                        \
    ROW(A2A_BACKEND, "a2a_backend") /* a name of strategies/a2a_backends */                           \
    ROW(GROUPS, "groups") /* a token's experts are in so many of so many groups: "4/8" */             \
    ROW(CLIENT, "client") /* "waves=10,spread=0.8": see validate/serving/served_translate.h */

typedef enum {
#define RH_CASE_ASPECT_WORD(word, key) RH_CASE_SAYS_##word,
    RH_CASE_ASPECTS(RH_CASE_ASPECT_WORD)
#undef RH_CASE_ASPECT_WORD
        RH_CASE_SAYS_LAST,
} RhCaseAspect;

typedef struct RhCaseFacts RhCaseFacts;

/* The file of the tree: published.json, of training, or served.json. RH_ERROR_INPUT with file:line:col,
 * RH_ERROR_IO. */
RhCaseFacts *rh_case_facts_load(bool serving, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads such a file's text; `name` is what errors call it. */
RhCaseFacts *rh_case_facts_parse(const char *name, const char *text,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_case_facts_free(RhCaseFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhCaseFacts, rh_case_facts_free)

/* Aspects of one row. */
typedef struct {
    const char *says[RH_CASE_SAYS_LAST]; /* interned; NULL: nothing */
    GPtrArray *stands_in;                /* const char*, interned, in the order of the file */
} RhCaseValues;
/* Withholds the rules that were chosen on any of these rows (const RhCaseRow*; NULL: none). */
void rh_case_facts_withhold(RhCaseFacts *facts, const GPtrArray *rows);
/* Returns the number of rules; one rule's state: is it withheld, was it chosen on rows, does it apply to a row? */
guint rh_case_facts_count(const RhCaseFacts *facts);
bool rh_case_facts_withheld(const RhCaseFacts *facts, guint rule);
void rh_case_facts_set_withheld(RhCaseFacts *facts, guint rule, bool withheld);
bool rh_case_facts_chosen(const RhCaseFacts *facts, guint rule);
bool rh_case_facts_applies(const RhCaseFacts *facts, guint rule, const RhCaseRow *row);
RhCaseValues rh_case_facts_say(const RhCaseFacts *facts, const RhCaseRow *row);
void rh_case_said_clear(RhCaseValues *said);
