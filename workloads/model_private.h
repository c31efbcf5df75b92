#pragma once
/* Between model.c (the shape), layer_lists.c (layers one by one) and model_load.c (files, catalogue).
 * Private to workloads/. */
#include "base/json/json.h"
#include "workloads/config/family_keys.h"

/* One thing wrong with a shape: the field to blame, what, and how to mend it (may be NULL). */
typedef struct {
    size_t offset;
    char *text, *help;
    bool of_one; /* beside a size of 1, which is also what a reader leaves of a missing one */
} RhShapeProblem;

/* Fills what follows from other fields (head_size, kv_heads, ffn, an unused window, and what the
 * family and its operators know), then checks. The messages name fields as `names` does. GArray of
 * RhShapeProblem, owned by the caller. */
GArray *rh_config_resolve(const RhFamily *family, RhConfig *config, const RhField *names);

#define RH_LAYER_FIGURES_MAX 32

/* What a file says of one layer. */
typedef struct RhLayerPlan {
    const RhLayerType *word; /* NULL: by the family's rule */
    const RhOperator *mixer; /* NULL: the word's */
    RhFfnChoice ffn;         /* RH_FFN_BY_RULE: as the word says */
    const RhStepList *steps; /* as read; NULL: it has operators */
    bool no_mixer;
    int32_t figures_count;
    struct {
        size_t offset; /* of RhConfig */
        int64_t value;
    } figures[RH_LAYER_FIGURES_MAX]; /* the layer's own */
} RhLayerPlan;

/* The model's sizes from a resolved shape, its encoder's too; not its layers. */
void rh_model_set_sizes(RhModel *model, const RhConfig *config);
/* A model of the resolved shape, its layers by the family's rule. */
RhModel *rh_model_new(const char *name, const RhFamily *family, const RhConfig *config);
/* Why layers cannot be. */
typedef struct {
    int32_t layer; /* -1: all together */
    char *text;    /* the caller frees it */
} RhLayersProblem;
/* Shapes the layers anew: by the family's rule, or as `plans` says (`count` of them, begun again where
 * the model has more layers; the model takes them over). False when they are of too many kinds, or a
 * layer does not take what the one before puts out. */
bool rh_model_set_layers(RhModel *model, const RhConfig *config, RhLayerPlan *plans, int32_t count,
                         RhLayersProblem *problem);
/* The steps of a layer; problems are the document's. The caller frees. */
RhStepList *rh_step_list_read(RhJson *doc, const RhJsonNode *layer);

/* Adds to a file's plans, which it takes over, the layers that stand before others of their word, each made one of its own:
 * *layers of them then. A file that lists no layers lacks them, unless all are of one word: a problem of the document, NULL.
 * Of a family without such words the plans as they are. The caller frees. */
RhLayerPlan *rh_layer_plans_complete(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                                     RhLayerPlan *plans, int64_t *layers);
/* Adds a figure to a plan. */
void rh_layer_plan_add(RhLayerPlan *plan, size_t offset, int64_t value);

/* Reads what the fields say; missing and broken ones become problems. */
void rh_fields_read(RhJson *doc, const RhJsonNode *object, const RhField *fields, RhConfig *config);
/* Not null, false, 0 or empty. */
bool rh_json_says_something(RhJson *doc, const RhJsonNode *node);
/* Does the family read this key, by itself or as an object that keys of its are inside ("a" of "a.b")? */
bool rh_family_has_key(const RhFamily *family, const char *key);
/* Keys of a file that say the model is of another kind than the family, or that look like a misspelling of a missing one. */
void rh_check_other_keys(RhJson *doc, const RhJsonNode *root, const RhFamily *family);
/* The same of objects inside the file that the family reads keys of. */
void rh_check_parts(RhJson *doc, const RhJsonNode *root, const RhFamily *family);
/* A model in our own form; problems are the document's. */
RhModel *rh_own_layers_read(RhJson *doc, const RhFamily *family, const char *name);

/* The plans of a file's layers, for rh_model_set_layers(); NULL where it has no list of them. */
RhLayerPlan *rh_layer_lists_read(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                                 const RhConfig *config);

/* The member under `key`, or under another of its names, or inside others ("a.b"): the object that has
 * it and its name there. NULL when there is none, or null. */
const RhJsonNode *rh_json_find(const RhJsonNode *object, const char *key, const RhJsonNode **within,
                               const char **name);
