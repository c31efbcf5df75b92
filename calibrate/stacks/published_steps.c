#include "calibrate/stacks/published_steps.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/text_input.h"
#include "base/units.h"
#include "calibrate/stacks/published_models.h"

enum {
    CELL_SOURCE,
    CELL_TABLE,
    CELL_MODEL,
    CELL_PLATFORM,
    CELL_GPUS,
    CELL_GLOBAL_BATCH,
    CELL_SEQUENCE,
    CELL_DTYPE,
    CELL_LAYOUT,
    CELL_ATTENTION,
    CELL_NORMS,
    CELL_APART,
    CELL_STEP_S,
    CELL_PEAK_GIB,
    CELLS,
};

static const char *const names[CELLS] = {
    "source", "table",  "model",     "platform", "gpus",  "global_batch", "sequence",
    "dtype",  "layout", "attention", "norms",    "apart", "step_s",       "peak_gib"};

#define GPUS_MOST   (1 << 20)
#define TOKENS_MOST (1 << 30)
#define BATCH_MOST  (1 << 30)
#define STEP_MOST_S 1e6
#define PEAK_MOST   1e6 /* GiB */

typedef struct {
    RhMeasuredSteps *steps;
    GHashTable *models, *platforms; /* text -> RhModel*, RhPlatform*, borrowed */
    GHashTable *shapes;             /* name -> text of "# model.NAME=..." */
    int32_t line;
    GError **error;
} Reading;

static bool fail_cell(const Reading *r, int cell, const char *text, const char *what)
{
    return rh_fail(r->error, RH_ERROR_INPUT, "%s:%d:%d: %s \"%.60s\" %s\nhelp: correct the cell",
                   r->steps->name, r->line, cell + 1, names[cell], text, what);
}

/* Sets a nested reader's error with its position. */
static bool fail_within(const Reading *r, int cell, GError *local)
{
    rh_fail(r->error, RH_ERROR_INPUT, "%s:%d:%d: %s: %s", r->steps->name, r->line, cell + 1,
            names[cell], local->message);
    g_error_free(local);
    return false;
}

static bool read_whole(const Reading *r, char **cells, int cell, int64_t most, int64_t *out)
{
    guint64 value = 0;
    if (!g_ascii_string_to_unsigned(cells[cell], 10, 1, (guint64)most, &value, NULL)) {
        g_autofree char *what =
            g_strdup_printf("is not a whole number from 1 to %" G_GINT64_FORMAT, most);
        return fail_cell(r, cell, cells[cell], what);
    }
    *out = (int64_t)value;
    return true;
}

static bool read_number(const Reading *r, char **cells, int cell, double most, double *out)
{
    char *end = NULL;
    double x = g_ascii_strtod(cells[cell], &end);
    if (end == cells[cell] || *end || !(x > 0) || x > most) {
        g_autofree char *what = g_strdup_printf("is not a number above 0, up to %g", most);
        return fail_cell(r, cell, cells[cell], what);
    }
    *out = x;
    return true;
}

/* Reads one of two words. */
static bool read_choice(const Reading *r, char **cells, int cell, const char *yes, const char *no,
                        bool *out)
{
    *out = strcmp(cells[cell], yes) == 0;
    if (*out || strcmp(cells[cell], no) == 0)
        return true;
    g_autofree char *what = g_strdup_printf("is neither %s nor %s", yes, no);
    return fail_cell(r, cell, cells[cell], what);
}

static bool read_model(const Reading *r, const char *name, RhMeasuredStep *step)
{
    GError *local = NULL;
    RhModel *model = g_hash_table_lookup(r->models, name);
    if (!model) {
        const char *shape = g_hash_table_lookup(r->shapes, name);
        model = shape ? rh_steps_model(name, shape, &local) : rh_model_load(name, &local);
        if (!model)
            return fail_within(r, CELL_MODEL, local);
        g_ptr_array_add(r->steps->models, model);
        g_hash_table_insert(r->models, g_strdup(name), model);
    }
    step->model = model;
    return true;
}

static bool read_platform(const Reading *r, const char *text, RhMeasuredStep *step)
{
    GError *local = NULL;
    RhPlatform *platform = g_hash_table_lookup(r->platforms, text);
    if (!platform) {
        g_autofree char *spec = g_strdelimit(g_strdup(text), " ", ',');
        platform = rh_platform_load(spec, &local);
        if (!platform)
            return fail_within(r, CELL_PLATFORM, local);
        g_ptr_array_add(r->steps->platforms, platform);
        g_hash_table_insert(r->platforms, g_strdup(text), platform);
    }
    step->platform = platform;
    return true;
}

static bool read_job(const Reading *r, char **cells, RhMeasuredStep *step)
{
    int64_t gpus = 0;
    RhJob *job = &step->job;
    if (!read_whole(r, cells, CELL_GPUS, GPUS_MOST, &gpus) ||
        !read_whole(r, cells, CELL_GLOBAL_BATCH, BATCH_MOST, &job->global_batch) ||
        !read_whole(r, cells, CELL_SEQUENCE, TOKENS_MOST, &job->sequence))
        return false;
    job->gpus = (int32_t)gpus;
    job->recipe = rh_recipe_by_name(cells[CELL_DTYPE]);
    return job->recipe != NULL ||
           fail_cell(r, CELL_DTYPE, cells[CELL_DTYPE],
                     "is not a supported number format: bf16, fp16, fp8 or a kin of it");
}

static bool read_layout(const Reading *r, const char *text, RhMeasuredStep *step)
{
    GError *local = NULL;
    g_autofree char *spec = g_strdelimit(g_strdup(text), " ", ',');
    step->layout = rh_layout_default();
    return rh_layout_parse(spec, &step->layout, &local) || fail_within(r, CELL_LAYOUT, local);
}

static bool read_measured(const Reading *r, char **cells, RhMeasuredStep *step)
{
    double peak_gib = 0;
    step->out_of_memory = strcmp(cells[CELL_STEP_S], "oom") == 0;
    if (!step->out_of_memory && !read_number(r, cells, CELL_STEP_S, STEP_MOST_S, &step->seconds))
        return false;
    if (*cells[CELL_PEAK_GIB] && !read_number(r, cells, CELL_PEAK_GIB, PEAK_MOST, &peak_gib))
        return false;
    step->peak_bytes = peak_gib * RH_GIB_BYTES;
    return true;
}

/* Completes the layout, in canonical form with dp; a row that takes part must be legal as
 * written. */
static bool settle_layout(const Reading *r, RhMeasuredStep *step)
{
    GError *local = NULL;
    const RhStack *bare = rh_stack_by_name("bare", r->error);
    if (!bare)
        return false;
    RhStack stack = *bare;
    stack.flash_attention = step->flash_attention;
    stack.fused_norms = step->fused_norms;
    RhProblem c = {step->model, step->platform, &stack, step->job};
    step->layout = rh_train_canonical(&c, &step->layout);
    return rh_train_legal(&c, &step->layout, &local) || fail_within(r, CELL_LAYOUT, local);
}

static uint32_t group_of(char **cells, const RhMeasuredStep *step)
{
    g_autofree char *text = g_strdup_printf(
        "%s|%s|%s|%s|%s|%d", cells[CELL_SOURCE], cells[CELL_MODEL], cells[CELL_SEQUENCE],
        cells[CELL_ATTENTION], cells[CELL_NORMS], (int)step->layout.recompute);
    return g_str_hash(text);
}

static bool read_row(const Reading *r, const char *text)
{
    g_auto(GStrv) cells = g_strsplit(text, ",", -1);
    RhMeasuredStep step = {.line = r->line};
    if (g_strv_length(cells) != CELLS)
        return rh_fail(
            r->error, RH_ERROR_INPUT,
            "%s:%d: %u cells, %d are wanted\nnote: " RH_STEPS_HEADER
            "\nhelp: layouts and platforms have spaces where the command line has commas",
            r->steps->name, r->line, g_strv_length(cells), CELLS);
    step.source = rh_intern(cells[CELL_SOURCE]);
    step.table = rh_intern(cells[CELL_TABLE]);
    step.apart = rh_intern(cells[CELL_APART]);
    step.habits = g_hash_table_lookup(r->steps->habits, step.source);
    if (!g_hash_table_contains(r->steps->sources, step.source))
        return fail_cell(r, CELL_SOURCE, step.source, "has no line \"# source.NAME=...\" above");
    if (!read_model(r, cells[CELL_MODEL], &step) ||
        !read_platform(r, cells[CELL_PLATFORM], &step) || !read_job(r, cells, &step) ||
        !read_choice(r, cells, CELL_ATTENTION, "flash", "unfused", &step.flash_attention) ||
        !read_choice(r, cells, CELL_NORMS, "fused", "eager", &step.fused_norms) ||
        !read_layout(r, cells[CELL_LAYOUT], &step) || !read_measured(r, cells, &step) ||
        !settle_layout(r, &step))
        return false;
    step.group = group_of(cells, &step);
    g_array_append_val(r->steps->rows, step);
    return true;
}

static bool read_habits(const Reading *r, const char *source, const char *stack)
{
    g_autoptr(GError) why = NULL;
    const RhStack *known = rh_stack_by_name(stack, &why);
    if (!known)
        return rh_fail(r->error, RH_ERROR_INPUT, "%s:%d: %s", r->steps->name, r->line,
                       why->message);
    g_hash_table_insert(r->steps->habits, (void *)rh_intern(source), (void *)known);
    return true;
}

/* Reads "# source.NAME=text", "# title.NAME=text", "# network.NAME=why", "# stack.NAME=stack" or "#
 * model.NAME=shape"; other remarks are skipped. */
static bool read_comment(const Reading *r, const char *text)
{
    g_autofree char *line = g_strstrip(g_strdup(text + 1));
    char *equals = strchr(line, '=');
    if (!equals)
        return true;
    *equals = 0;
    if (g_str_has_prefix(line, "source."))
        g_hash_table_insert(r->steps->sources, (void *)rh_intern(line + strlen("source.")),
                            g_strdup(equals + 1));
    else if (g_str_has_prefix(line, "title."))
        g_hash_table_insert(r->steps->titles, (void *)rh_intern(line + strlen("title.")),
                            g_strdup(equals + 1));
    else if (g_str_has_prefix(line, "network."))
        g_ptr_array_add(r->steps->networks, (void *)rh_intern(line + strlen("network.")));
    else if (g_str_has_prefix(line, "stack."))
        return read_habits(r, line + strlen("stack."), equals + 1);
    else if (g_str_has_prefix(line, "model."))
        g_hash_table_insert(r->shapes, g_strdup(line + strlen("model.")), g_strdup(equals + 1));
    return true;
}

static bool read_header(const Reading *r, const char *text)
{
    return strcmp(text, RH_STEPS_HEADER) == 0 ||
           rh_fail(r->error, RH_ERROR_INPUT,
                   "%s:%d: not the header of a table of steps\nnote: " RH_STEPS_HEADER,
                   r->steps->name, r->line);
}

static bool read_lines(Reading *r, const char *text)
{
    bool headed = false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 1; lines[i]; i++) {
        const char *line = g_strchomp(lines[i]);
        r->line = i + 1;
        if (*line == 0)
            continue;
        bool good = *line == '#' ? read_comment(r, line)
                    : headed     ? read_row(r, line)
                                 : read_header(r, line);
        if (!good)
            return false;
        headed = headed || *line != '#';
    }
    return headed ||
           rh_fail(r->error, RH_ERROR_INPUT,
                   "%s: there is no header, and no row\nnote: " RH_STEPS_HEADER, r->steps->name);
}

bool rh_steps_begin(const char *text)
{
    size_t length = strlen(RH_STEPS_FIRST_LINE);
    return strncmp(text, RH_STEPS_FIRST_LINE, length) == 0 &&
           (text[length] == '\n' || text[length] == '\r' || text[length] == 0);
}

static RhMeasuredSteps *steps_new(const char *name)
{
    RhMeasuredSteps *steps = g_new0(RhMeasuredSteps, 1);
    steps->name = g_strdup(name);
    steps->rows = g_array_new(FALSE, FALSE, sizeof(RhMeasuredStep));
    steps->models = g_ptr_array_new_with_free_func((GDestroyNotify)rh_model_free);
    steps->platforms = g_ptr_array_new_with_free_func((GDestroyNotify)rh_platform_free);
    steps->networks = g_ptr_array_new();
    steps->habits = g_hash_table_new(NULL, NULL);
    steps->sources = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    steps->titles = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    return steps;
}

RhMeasuredSteps *rh_steps_parse(const char *name, const char *text, GError **error)
{
    g_return_val_if_fail(name != NULL && text != NULL, NULL);
    if (!rh_steps_begin(text)) {
        rh_fail(error, RH_ERROR_INPUT, "%s:1: the first line must be \"" RH_STEPS_FIRST_LINE "\"",
                name);
        return NULL;
    }
    g_autoptr(RhMeasuredSteps) steps = steps_new(name);
    g_autoptr(GHashTable) models = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) platforms = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) shapes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Reading r = {steps, models, platforms, shapes, 0, error};
    return read_lines(&r, text) ? g_steal_pointer(&steps) : NULL;
}

RhMeasuredSteps *rh_steps_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_steps_parse(path, text, error) : NULL;
}

void rh_steps_free(RhMeasuredSteps *steps)
{
    if (!steps)
        return;
    g_free(steps->name);
    g_array_unref(steps->rows);
    g_ptr_array_unref(steps->models);
    g_ptr_array_unref(steps->platforms);
    g_ptr_array_unref(steps->networks);
    g_hash_table_destroy(steps->habits);
    g_hash_table_destroy(steps->sources);
    g_hash_table_destroy(steps->titles);
    g_free(steps);
}

char *rh_step_describe(const RhMeasuredStep *step)
{
    g_autofree char *layout = rh_layout_title(&step->layout);
    return g_strdup_printf("%s %s, %d GPUs, seq %" G_GINT64_FORMAT ", %s%s%s (line %d)",
                           step->table, step->model->name, step->job.gpus, step->job.sequence,
                           layout, step->flash_attention ? "" : ", unfused attention",
                           step->fused_norms ? "" : ", eager norms", step->line);
}
