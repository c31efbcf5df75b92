/* rh_shell_parse: whatever is split has words with places inside the script, and a refusal says
 * why. */
#include <string.h>

#include "base/shell/shell_script.h"
#include "fuzz/fuzzkit.h"

static void check_words(const RhShell *shell, const GPtrArray *words)
{
    for (guint i = 0; i < words->len; i++) {
        const RhShellWord *word = words->pdata[i];
        FUZZ_CHECK(word->text != NULL && word->offset <= shell->length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhShell) shell = rh_shell_parse("fuzz.sh", (const char *)data, size, &error);
    if (!shell) {
        fuzz_check_error(&error);
        return 0;
    }
    for (guint i = 0; i < shell->commands->len; i++) {
        const RhShellCommand *command = shell->commands->pdata[i];
        check_words(shell, command->words);
        check_words(shell, command->environment);
    }
    FUZZ_CHECK(!rh_shell_fail(shell, size / 2, 1, "here", NULL, &error));
    fuzz_check_error(&error);
    return 0;
}
