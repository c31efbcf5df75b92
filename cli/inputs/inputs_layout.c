/* The layout that a question is about: typed, of a file or of a result; completed, canonical, legal. */
#include "cli/inputs/inputs.h"

#include "base/error.h"
#include "cli/inputs/result_file.h"
#include "strategies/train/train.h"

bool rh_inputs_layout(const RhInputs *in, const char *strategy, RhLayout *out, GError **error)
{
    RhLayout layout = rh_train_default(&in->c);
    bool is_result = rh_result_is_named(strategy);
    bool is_file = !is_result && g_file_test(strategy, G_FILE_TEST_EXISTS) &&
                   !g_file_test(strategy, G_FILE_TEST_IS_DIR); /* a pipe, too */
    if (is_result ? !rh_result_layout(strategy, &layout, error)
        : is_file ? !rh_layout_load(strategy, &layout, error)
                  : !rh_layout_parse(strategy, &layout, error))
        return false;
    GError *why = NULL;
    if (!rh_train_settle_layout(&in->c, &layout, &why)) {
        if (!is_result && !is_file)
            g_propagate_error(error, why);
        return is_result ? rh_result_refuse(strategy, why, error)
                         : is_file && rh_layout_refuse(strategy, why, error);
    }
    *out = layout;
    return true;
}
