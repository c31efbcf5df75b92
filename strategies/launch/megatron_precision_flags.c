/* Megatron-LM's flags of number formats and of the job, in both directions. */
#include <string.h>

#include "strategies/launch/megatron.h"
#include "strategies/train/block_cost.h"

/* Formats of linear layers: a family that turns them on, and a recipe of it. */
static const struct {
    const RhRecipe *recipe;
    const char *family, *word, *dtype;
} narrow[] = {{&rh_recipe_fp8, "fp8", "delayed", "fp8"},
              {&rh_recipe_fp8_current, "fp8", "tensorwise", "fp8-current"},
              {&rh_recipe_fp8_block, "fp8", "blockwise", "fp8-block"},
              {&rh_recipe_mxfp8, "fp8", "mxfp8", "mxfp8"},
              {&rh_recipe_nvfp4, "fp4", "nvfp4", "nvfp4"}};

/* Figures of formats beside RhLaunchJobField; behind those of megatron_layout.c. */
enum {
    JOB_FP8 = RH_JOB_FIELD_OWN + 12, /* 1: on */
    JOB_FP8_RECIPE,                  /* 1 + place among `narrow` */
    JOB_FP4,
    JOB_HALF, /* 1: bf16, 2: fp16 */
};

static bool is_half(const RhLaunchText *t)
{
    return t->c->job.recipe->dtype == RH_DTYPE_FP16;
}

/* Returns the row of the job's format; NULL: it is of 16 bits. */
static const char *format_word(const RhLaunchText *t, const char *family)
{
    for (size_t i = 0; i < G_N_ELEMENTS(narrow); i++)
        if (t->c->job.recipe == narrow[i].recipe && strcmp(narrow[i].family, family) == 0)
            return narrow[i].word;
    return NULL;
}

char *rh_megatron_write_bf16(const RhLaunchText *t)
{
    return is_half(t) ? NULL : g_strdup("");
}

/* Sets the format of 16 bits; Megatron-LM asserts that there is one. */
static void set_half(RhLaunchReading *r, int64_t half)
{
    if (r->job[JOB_HALF] > 0 && r->job[JOB_HALF] != half)
        rh_launch_problem(r, "leave one of them out", "bf16 and fp16 exclude each other");
    r->job[JOB_HALF] = half;
}

void rh_megatron_read_bf16(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        set_half(r, 1);
}

char *rh_megatron_write_fp16(const RhLaunchText *t)
{
    return is_half(t) ? g_strdup("") : NULL;
}

void rh_megatron_read_fp16(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        set_half(r, 2);
}

char *rh_megatron_write_fp8_format(const RhLaunchText *t)
{
    return format_word(t, "fp8") ? g_strdup("hybrid") : NULL;
}

void rh_megatron_read_rampup(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_tell(r, "%s: the step of the full batch is simulated", r->at->name);
}

void rh_megatron_read_fp8_format(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FP8] = rh_launch_read_switch(text);
}

char *rh_megatron_write_fp8_recipe(const RhLaunchText *t)
{
    return g_strdup(format_word(t, "fp8"));
}

void rh_megatron_read_fp8_recipe(RhLaunchReading *r, const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(narrow); i++)
        if (strcmp(narrow[i].word, text) == 0) {
            r->job[JOB_FP8_RECIPE] = 1 + (int64_t)i;
            return;
        }
    rh_launch_problem(r, "delayed, tensorwise, blockwise or mxfp8", "no %s is \"%s\"", r->at->name,
                      text);
}

char *rh_megatron_write_fp4_format(const RhLaunchText *t)
{
    return format_word(t, "fp4") ? g_strdup("e2m1") : NULL;
}

void rh_megatron_read_fp4_format(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FP4] = rh_launch_read_switch(text);
}

char *rh_megatron_write_moments(const RhLaunchText *t)
{
    return rh_launch_has_narrow_moments(t->c) ? g_strdup("bf16") : NULL;
}

void rh_megatron_read_moments(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "bf16") == 0)
        g_ptr_array_add(r->sets, g_strdup("moments=bf16"));
    else if (strcmp(text, "fp32") != 0)
        rh_launch_tell(r, "moments in %s are simulated in fp32", text);
}

char *rh_megatron_write_gradients(const RhLaunchText *t)
{
    return rh_gradient_bytes(t->c) == 2 ? g_strdup("bf16") : NULL;
}

void rh_megatron_read_gradients(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "bf16") == 0)
        g_ptr_array_add(r->sets, g_strdup("gradients=bf16"));
}

static bool gathers_narrow(const RhLaunchText *t, bool fp4)
{
    return t->c->job.narrow_weights && (t->c->job.recipe == &rh_recipe_nvfp4) == fp4;
}

char *rh_megatron_write_fp8_weights(const RhLaunchText *t)
{
    return gathers_narrow(t, false) ? g_strdup("") : NULL;
}

void rh_megatron_read_fp8_weights(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        g_ptr_array_add(r->sets, g_strdup("weights=narrow"));
}

char *rh_megatron_write_fp4_weights(const RhLaunchText *t)
{
    return gathers_narrow(t, true) ? g_strdup("") : NULL;
}

void rh_megatron_read_fp4_weights(RhLaunchReading *r, const char *text)
{
    rh_megatron_read_fp8_weights(r, text);
}

char *rh_megatron_write_capacity(const RhLaunchText *t)
{
    return t->c->job.load.capacity > 0 ? g_strdup_printf("%g", t->c->job.load.capacity) : NULL;
}

void rh_megatron_read_capacity(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        g_ptr_array_add(r->sets, g_strdup_printf("experts_capacity=%s", text));
}

char *rh_megatron_write_fraction(const RhLaunchText *t)
{
    return t->layout->states == RH_PLACE_HOST
               ? g_strdup_printf("%g", t->layout->states_percent / 100.0)
               : NULL;
}

void rh_megatron_read_fraction(RhLaunchReading *r, const char *text)
{
    double fraction = g_ascii_strtod(text, NULL);
    if (fraction > 0 && fraction <= 1)
        rh_launch_store(r, RH_ROW_KNOB(states_percent), MAX((int64_t)(100 * fraction + 0.5), 1));
}

void rh_megatron_read_predicted(RhLaunchReading *r, const char *text)
{
    int64_t layers = 0;
    if (rh_launch_read_number(r, text, &layers) && layers > 0)
        rh_launch_tell(r, "layers that predict further tokens are simulated where -w has them");
}

void rh_megatron_read_model(RhLaunchReading *r, const char *text)
{
    g_free(r->model);
    r->model = g_strdup(text);
}

/* Notes a tokenizer, whose name often is the model's. */
void rh_megatron_read_tokenizer(RhLaunchReading *r, const char *text)
{
    g_free(r->texts[0]);
    r->texts[0] = g_strdup(text);
}

void rh_megatron_finish_job(RhLaunchReading *r)
{
    bool fp8 = r->job[JOB_FP8] == 1, fp4 = r->job[JOB_FP4] == 1;
    int64_t recipe = r->job[JOB_FP8_RECIPE] > 0 ? r->job[JOB_FP8_RECIPE] - 1 : 0;
    r->dtype = fp4                     ? "nvfp4"
               : fp8                   ? narrow[recipe].dtype
               : r->job[JOB_HALF] == 2 ? "fp16"
               : r->job[JOB_HALF] == 1 ? "bf16"
                                       : "fp32";
}

/* Writes formats that follow from those above. */
void rh_megatron_say_formats(RhLaunchText *t)
{
    bool moments = rh_launch_has_narrow_moments(t->c), gradients = rh_gradient_bytes(t->c) == 2;
    rh_launch_write(t, "--transformer-impl transformer_engine");
    if (format_word(t, "fp4"))
        rh_launch_write(t, "--fp4-recipe nvfp4");
    if (is_half(t) && !gradients)
        rh_launch_write(t, "--accumulate-allreduce-grads-in-fp32");
    if (moments || gradients || t->layout->states == RH_PLACE_HOST)
        rh_launch_write(t, "--use-precision-aware-optimizer");
    if (moments)
        rh_launch_write(t, "--exp-avg-sq-dtype bf16");
    if (gradients)
        rh_launch_write(t, "--grad-reduce-in-bf16");
    if (t->c->job.narrow_weights && t->c->job.recipe == &rh_recipe_mxfp8)
        rh_launch_write(t, "--reuse-grad-buf-for-mxfp8-param-ag");
}
