/* Launches of a training, whole: whatever a file holds, what is read of it is a job that can be asked:
 * a layout that can be typed again and is refused with a reason or has a memory, a batch and GPUs. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "fuzz/fuzzkit.h"
#include "strategies/launch/launch_read.h"
#include "strategies/software_stack.h"
#include "strategies/train/train.h"

static RhModel *model;
static RhPlatform *platform;

/* The layout on 16 H100, as simulate --from has it. */
static void check_layout(const RhLaunchFile *f)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = rh_launch_file_layout(f);
    const RhStack *stack = rh_stack_by_name(f->stack, &error);
    FUZZ_CHECK(stack != NULL);
    g_autoptr(RhPlatform) view = rh_stack_platform(stack, platform);
    RhProblem c = {.model = model, .platform = view, .stack = stack};
    c.job = (RhJob){.global_batch = MAX(rh_launch_file_batch(f, 16), 1),
                    .sequence = CLAMP(f->sequence, 1, 8192),
                    .gpus = 16,
                    .recipe = rh_recipe_by_name(f->dtype ? f->dtype : "bf16")};
    FUZZ_CHECK(c.job.recipe != NULL);
    RhLayout l = rh_train_default(&c);
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    for (char **word = words; *word && **word; word++)
        if (!rh_train_change(&c, &l, *word, &error)) {
            fuzz_check_error(&error);
            return;
        }
    rh_train_complete(&c, &l);
    l = rh_train_canonical(&c, &l);
    if (!rh_train_legal(&c, &l, &error)) {
        fuzz_check_error(&error);
        return;
    }
    RhTrainMemory m = rh_train_memory(&c, &l);
    FUZZ_CHECK(isfinite(m.peak_bytes) && m.peak_bytes > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const endings[] = {".sh", ".yaml", ".toml", ".json"};
    static char *folder;
    g_autoptr(GError) error = NULL;
    if (!folder) {
        folder = g_dir_make_tmp("training-fuzz-XXXXXX", NULL);
        model = rh_model_load("llama-3.2-1b", NULL);
        platform = rh_platform_load("dgx-h100:2", NULL);
    }
    FUZZ_CHECK(folder && model && platform);
    if (size == 0)
        return 0;
    g_autofree char *path =
        g_strdup_printf("%s/launch%s", folder, endings[data[0] % G_N_ELEMENTS(endings)]);
    FUZZ_CHECK(g_file_set_contents(path, (const char *)data + 1, (gssize)size - 1, NULL));
    g_autoptr(RhLaunchFile) f = rh_launch_read(path, &error);
    if (!f)
        fuzz_check_error(&error);
    else {
        FUZZ_CHECK(f->global_batch >= 0 && f->sequence >= 0 && rh_launch_file_gpus(f) >= 0);
        check_layout(f);
    }
    FUZZ_CHECK(g_unlink(path) == 0);
    return 0;
}
