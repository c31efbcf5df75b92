#pragma once
/* A layer as a list of steps: a small graph of what is done to pictures.
 *
 * A tensor is a picture of so many channels, its height and width kept: whoever cuts pictures by rows
 * reads kernels, strides and heights here. The layer's own inputs are its first tensors, then each step
 * makes one. As read, a list says what to do; shaped, it knows the size of every tensor, and what is
 * kept of them for backward. What a step costs, its row in operators/image_layer_costs.c knows. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RH_STEP_INPUTS_MAX  12
#define RH_LAYER_INPUTS_MAX 16
#define RH_LAYER_STEPS_MAX  256

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Of one sample. */
typedef struct {
    int32_t height, width, channels;
} RhTensor;
#pragma GCC diagnostic pop

typedef enum {
    RH_STEP_OF_NONE,
    RH_STEP_OF_CONV,
    RH_STEP_OF_NORM,
    RH_STEP_OF_RELU,
    RH_STEP_OF_MAX_POOL,
    RH_STEP_OF_AVERAGE_POOL,
    RH_STEP_OF_GLOBAL_POOL,
    RH_STEP_OF_ADD,
    RH_STEP_OF_CONCAT,
    RH_STEP_OF_SPLIT,
    RH_STEP_OF_SHUFFLE,
    RH_STEP_OF_LINEAR,
    RH_STEP_OF_GELU,
    RH_STEP_OF_SCALE,
    RH_STEP_OF_MERGE,
    RH_STEP_OF_WINDOWS,
    RH_STEP_OF_TRANSPOSED,
    RH_STEP_OF_UPSAMPLE,
    RH_STEP_OF_SILU,
    RH_STEP_OF_GATE,
    RH_STEP_OF_ATTENTION,
    RH_STEP_OF_CROSS,
    RH_STEP_OF_CONDITION,
    RH_STEP_OF_LAST,
} RhLayerStepKind;

/* Elements over which a norm averages: a channel of the whole batch, the channels of a place, groups of
 * a picture's channels. */
typedef enum { RH_NORM_OF_BATCH, RH_NORM_OF_PLACES, RH_NORM_OF_GROUPS } RhNormKind;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* Every byte is written: shaped lists are compared as bytes. */
typedef struct {
    int32_t kind;                                 /* RhLayerStepKind */
    int32_t number;                               /* as the file counts, from 1 */
    int32_t from[RH_STEP_INPUTS_MAX], from_count; /* tensors */
    int32_t out;                                  /* CONV, TRANSPOSED, LINEAR: channels */
    int32_t kernel[2], stride[2], padding[2];     /* CONV, TRANSPOSED, pools: down, across */
    int32_t dilation[2];   /* CONV, pools: places from one of a window to the next */
    int32_t to[2];         /* UPSAMPLE: height and width; 0: `stride` times the input's */
    int32_t tokens, width; /* CROSS: of the other sequence; CONDITION: width of the vector */
    int32_t groups;        /* CONV, SHUFFLE; 0: one for each channel */
    int32_t part, parts;   /* SPLIT: which, from 1, of how many; CONDITION: vectors */
    int32_t bias;          /* CONV, TRANSPOSED, LINEAR; NORM: is scaled and shifted */
    int32_t over;          /* NORM: RhNormKind */
    int32_t heads, window,
        shifted;      /* WINDOWS (ATTENTION, CROSS: heads): places along a side; half of one off? */
    int32_t in_place; /* shaped: RELU of a tensor that nobody else reads */
    int32_t rides; /* shaped: RELU or ADD right behind a norm or a sum, of what nobody else reads */
} RhLayerStep;
#pragma GCC diagnostic pop

/* What is known of a tensor once a list is shaped. */
typedef struct {
    RhTensor size;
    int32_t first_use,
        last_use;         /* the step that makes it, -1: the layer before; the last that reads it,
                                  * steps_count: the next layer */
    int32_t uses;         /* steps and layers that read it and send a gradient back */
    int32_t root;         /* whose memory it is: itself, but for views and steps in place */
    int32_t has_gradient; /* false: the picture itself */
    int32_t kept;         /* of roots: 1: by this layer, from forward to backward */
    int32_t wanted;       /* of roots: by a step that made it or read it, here or before */
} RhStepTensor;

#define RH_KEPT_BEFORE 2 /* by a layer before this one */

typedef struct RhStepList {
    int32_t inputs_count, outputs_count, steps_count;
    int32_t outputs[RH_LAYER_INPUTS_MAX]; /* tensors */
    RhStepTensor *tensors;                /* shaped: inputs_count + steps_count; else NULL */
    RhLayerStep *steps;
} RhStepList;

/* Room for so many steps; its tensors too when `shaped`. */
RhStepList *rh_step_list_new(int32_t inputs, int32_t steps, bool shaped);
void rh_step_list_free(RhStepList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStepList, rh_step_list_free)
bool rh_step_list_equal(const RhStepList *a, const RhStepList *b);

/* What one layer hands to the next. */
typedef struct {
    int32_t count;
    RhStepTensor tensors[RH_LAYER_INPUTS_MAX]; /* size, has_gradient, kept and wanted count */
} RhLayerOutput;

/* The list with all tensors' sizes where the layer before hands it `before`; what it hands on itself
 * goes to `after`. NULL where they do not fit, and why in `problem` (caller frees). */
RhStepList *rh_step_list_shape(const RhStepList *list, const RhLayerOutput *before,
                               RhLayerOutput *after, char **problem);

/* How a list's pictures are cut. */
typedef struct {
    int32_t down, across;
    bool once; /* edges come once, before the first step (RH_HALO_LAYER) */
} RhTiles;
/* One tile of a shaped list's pictures: the same list with smaller tensors; what has one place, such as
 * behind a global pool, every tile has. Where edges come once, tensors have the places of neighbours that
 * later steps see; the list's own inputs have not. */
RhStepList *rh_step_list_tile(const RhStepList *list, RhTiles tiles);
/* Returns why the list's pictures cannot be cut into such tiles, as "convolution 3 has ..."; NULL: they
 * can. The caller frees it. */
char *rh_step_list_uncut(const RhStepList *list, RhTiles tiles);
/* Gets the rows and columns of neighbours' tiles that all steps together see of each tensor, where edges
 * come once: inputs_count + steps_count pairs; the caller frees them. Sides that are not cut have none. */
int32_t (*rh_step_list_margins(const RhStepList *list, RhTiles tiles))[2];
/* Does its last output have more than one place? */
bool rh_step_list_has_places(const RhStepList *list);
/* Rows, or columns (`across`), of a neighbour's tile that a step's windows reach into. */
int32_t rh_step_halo(const RhLayerStep *step, bool across);

const char *rh_layer_step_name(RhLayerStepKind kind);    /* "conv" */
RhLayerStepKind rh_layer_step_by_name(const char *name); /* NONE: unknown */
const char *const *rh_layer_step_names(void);            /* NULL-ended */
static inline double rh_tensor_elements(const RhTensor *t)
{
    return (double)t->height * t->width * t->channels;
}
