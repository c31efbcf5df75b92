#include <string.h>

#include "base/catalogue_folders.h"
#include "base/units.h"
#include "strategies/knobs.h"
#include "validate/cases/cases_table.h"

#define NAME "published runs"

/* State of converting a row; the texts are kept once each. */
typedef struct {
    RhCaseRow *row;
    GStringChunk *texts;
} Typing;

static void say(const Typing *t, RhCaseColumn column, const char *text)
{
    t->row->text[column] = g_string_chunk_insert_const(t->texts, text);
}

static void say_whole(const Typing *t, RhCaseColumn column, int64_t value)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    t->row->whole[column] = value;
    say(t, column, text);
}

static void say_knob(const Typing *t, RhCaseColumn column, const RhKnob *knob,
                     const RhLayout *layout)
{
    g_autofree char *text = rh_knob_cell(knob, layout);
    say(t, column, text);
}

/* Name of a model without the source that a table of steps puts before it where others have a model
 * of that name. */
static const char *bare_name(const RhMeasuredStep *step)
{
    size_t length = strlen(step->source);
    const char *name = step->model->name;
    return strncmp(name, step->source, length) == 0 && name[length] == '-' ? name + length + 1
                                                                           : name;
}

/* Source of a row: its title, and the version of the table as its publisher writes it. */
static char *source_of(const RhMeasuredStep *step, const char *title)
{
    bool version = step->table[0] == 'v' && g_ascii_isdigit(step->table[1]);
    return version ? g_strdup_printf("%s %s", title, step->table) : g_strdup(title);
}

static void say_job(const Typing *t, const RhMeasuredStep *step, const char *title)
{
    char peak[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(peak, sizeof peak, "%.6g", step->peak_bytes / RH_GIB_BYTES);
    g_autofree char *note = g_strdup_printf(
        "%s; table=%s; attention=%s; norms=%s;%s%s", step->apart, step->table,
        step->flash_attention ? "flash" : "unfused", step->fused_norms ? "fused" : "eager",
        step->peak_bytes > 0 ? " peak_mem_gib=" : "", step->peak_bytes > 0 ? peak : "");
    t->row->model = step->model;
    t->row->step_s = step->seconds;
    g_autofree char *source = source_of(step, title);
    say(t, RH_CASE_SOURCE, source);
    say(t, RH_CASE_MODEL, bare_name(step));
    say(t, RH_CASE_GPU, step->platform->device->name);
    say(t, RH_CASE_PRECISION, step->job.recipe->name);
    say(t, RH_CASE_NOTE, note);
    say_whole(t, RH_CASE_GPUS, step->job.gpus);
    say_whole(t, RH_CASE_SEQ, step->job.sequence);
    say_whole(t, RH_CASE_GLOBAL_BATCH, step->job.global_batch);
}

static void say_layout(const Typing *t, const RhLayout *layout)
{
    const struct {
        RhCaseColumn column;
        int32_t value;
    } wholes[] = {{RH_CASE_TP, layout->tp},  {RH_CASE_PP, layout->pp},
                  {RH_CASE_DP, layout->dp},  {RH_CASE_CP, layout->cp},
                  {RH_CASE_EP, layout->ep},  {RH_CASE_MICROBATCH, layout->microbatch},
                  {RH_CASE_VPP, layout->vpp}};
    for (size_t i = 0; i < G_N_ELEMENTS(wholes); i++)
        say_whole(t, wholes[i].column, wholes[i].value);
    say_knob(t, RH_CASE_RECOMPUTE, RH_KNOB_OF(recompute), layout);
    say_knob(t, RH_CASE_ZERO, RH_KNOB_OF(zero), layout);
    say(t, RH_CASE_SEQPAR, layout->sequence_parallel ? "1" : "0");
}

/* Makes a row of a published table from a measured step, whose words the same rules interpret. */
static RhCaseRow row_of(const RhMeasuredSteps *steps, const RhMeasuredStep *step,
                        GStringChunk *texts)
{
    const char *title = g_hash_table_lookup(steps->titles, step->source);
    RhCaseRow row = {.file = "published-steps.csv", .line = step->line};
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        row.text[i] = "";
    Typing t = {&row, texts};
    say_job(&t, step, title ? title : step->source);
    say_layout(&t, &step->layout);
    return row;
}

RhCaseTable *rh_case_table_published(GError **error)
{
    g_autofree char *runs =
        g_build_filename(rh_data_dir(), "validate", "data", "published-runs.csv", NULL);
    g_autofree char *steps =
        g_build_filename(rh_data_dir(), "calibrate", "data", "published-steps.csv", NULL);
    g_autoptr(RhCaseTable) table = rh_case_table_load(runs, error);
    if (!table || !(table->steps = rh_steps_load(steps, error)))
        return NULL;
    for (guint i = 0; i < table->rows->len; i++)
        g_array_index(table->rows, RhCaseRow, i).file = "published-runs.csv";
    table->texts = g_string_chunk_new(4096);
    for (guint i = 0; i < table->steps->rows->len; i++) {
        RhCaseRow row = row_of(table->steps, &g_array_index(table->steps->rows, RhMeasuredStep, i),
                               table->texts);
        g_array_append_val(table->rows, row);
    }
    g_free(table->name);
    table->name = g_strdup(NAME);
    return g_steal_pointer(&table);
}
