/* Parameters and FLOPs of models against tests/models/expected.csv: a model of the catalogue, or the
 * configuration tests/models/NAME.json, a row; what was published or counted by hand, from which source. */
#include <stdio.h>
#include <string.h>

#include "base/text/csv.h"
#include "tests/kit/testkit.h"
#include "workloads/model.h"
#include "workloads/operator_costs.h"

static char *path_in_models(const char *file)
{
    return g_build_filename(g_getenv("REHEARSE_DATA"), "tests", "models", file, NULL);
}

static RhModel *load(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strconcat(name, ".json", NULL), *path = path_in_models(file);
    bool own = g_file_test(path, G_FILE_TEST_EXISTS);
    RhModel *m = rh_model_load(own ? path : name, &error);
    if (m == NULL)
        g_printerr("  %s\n", error->message);
    return m;
}

typedef struct {
    double parameters, parameters_within, sequence, flops_per_token, flops_within; /* 0: not said */
} Expected;

static Expected read_row(const RhCsv *csv, const RhCsvRow *row)
{
    static const struct {
        const char *column;
        size_t offset;
    } numbers[] = {{"parameters", offsetof(Expected, parameters)},
                   {"parameters_within", offsetof(Expected, parameters_within)},
                   {"sequence", offsetof(Expected, sequence)},
                   {"flops_per_token", offsetof(Expected, flops_per_token)},
                   {"flops_within", offsetof(Expected, flops_within)}};
    Expected expected = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        double *to = (double *)(void *)((char *)&expected + numbers[i].offset);
        int32_t column = rh_csv_column(csv, numbers[i].column);
        CU_ASSERT_TRUE_FATAL(column >= 0);
        CU_ASSERT_TRUE(rh_csv_number(csv, row, column, 0, 1e30, to, NULL));
    }
    return expected;
}

/* Equal, or near the figure where the table says how near. */
static bool agrees(double counted, double expected, double within)
{
    return expected == 0 ||
           (within > 0 ? rh_test_close(counted, expected, within) : counted == expected);
}

static void check_row(const RhCsv *csv, const RhCsvRow *row)
{
    const char *name = row->cells[rh_csv_column(csv, "model")];
    Expected e = read_row(csv, row);
    CU_ASSERT_TRUE(e.parameters > 0 || e.flops_per_token > 0);
    CU_ASSERT_TRUE(*row->cells[rh_csv_column(csv, "source")] != 0);
    g_autoptr(RhModel) m = load(name);
    CU_ASSERT_PTR_NOT_NULL(m);
    if (m == NULL)
        return;
    CU_ASSERT_STRING_EQUAL(m->name, name);
    double parameters = (double)rh_model_params(m);
    int64_t sequence = e.sequence > 0 ? (int64_t)e.sequence : 4096;
    double flops = rh_model_flops_per_token(m, sequence);
    if (rh_model_sees_pictures(m)) /* tables have products of a pass forward: no gradients */
        flops = 3 * rh_model_forward_flops_per_token(m, sequence);
    bool right = agrees(parameters, e.parameters, e.parameters_within) &&
                 agrees(flops, e.flops_per_token, e.flops_within) && flops > 0;
    CU_ASSERT_TRUE(right);
    if (!right)
        fprintf(stderr, "  line %d, %s: %.0f parameters, %.17g FLOPs a token\n", row->line, name,
                parameters, flops);
}

/* Every row of the table: exact, or as near as the row says. Source: the column `source` of
 * tests/models/expected.csv. */
static void counts_are_those_of_the_table(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = path_in_models("expected.csv");
    g_autoptr(RhCsv) csv = rh_csv_load(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
    CU_ASSERT_TRUE(csv->rows->len > 250);
    for (guint i = 0; i < csv->rows->len; i++)
        check_row(csv, &g_array_index(csv->rows, RhCsvRow, i));
}

/* Every configuration in the folder has a row of the table. */
static void every_configuration_has_a_row(void)
{
    g_autofree char *path = path_in_models("expected.csv"), *folder = path_in_models(NULL);
    g_autofree char *text = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const char *file; (file = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *row =
            g_strdup_printf("\n%.*s,", (int)(strlen(file) - strlen(".json")), file);
        CU_ASSERT_TRUE(!g_str_has_suffix(file, ".json") || strstr(text, row) != NULL);
    }
}

int main(void)
{
    return rh_test_main("expected_counts",
                        (RhTest[]){{"counts_are_those_of_the_table", counts_are_those_of_the_table},
                                   {"every_configuration_has_a_row", every_configuration_has_a_row},
                                   {0}});
}
