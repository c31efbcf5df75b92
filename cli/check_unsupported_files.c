#include "cli/check_unsupported_files.h"

#include <string.h>

#include "base/error.h"
#include "base/text/text_input.h"

/* Marks that all stand in such a file, and what is said of it. */
static const struct {
    const char *marks[2], *said;
} kinds[] = {
    {{"\"nodes\"", "execution_trace"},
     "an execution trace of PyTorch, which has operators and no times\n"
     "help: Chakra's converter makes a trace with times of it and the profiler's, which simulate "
     "--program takes; the profiler's alone goes to validate --cases"},
    {{"model_parallel_NPU_group", "all_gpus"},
     "a workload of SimAI, layer by layer with times of its own\n"
     "help: the model itself is simulated: rehearse simulate -w MODEL -s tp8,pp1,...; its "
     "collectives alone: rehearse collective all-gather -p PLATFORM"},
    {{"size(MB)", "avgbw(GB/sec)"},
     "a result of IBM's communication benchmarks, which says neither the collective nor the ranks\n"
     "help: rehearse calibrate --from takes a log of nccl-tests, of OSU's benchmarks or of "
     "nvbandwidth"},
    {{" controller: NVIDIA Corporation", "(rev "},
     "output of lspci, which says neither the memory of a GPU nor what joins them\n"
     "help: nvidia-smi -q, or nvidia-smi -L, beside nvidia-smi topo -m goes to rehearse show "
     "platforms --from-machine"},
    {{"\"traceEvents\"", "\"ph\""},
     "a trace of times, as PyTorch's profiler writes it\n"
     "help: rehearse validate --cases FILE --from LAUNCH -p PLATFORM sets it beside its "
     "prediction; simulate --program takes Chakra's"},
};

const char *rh_other_file(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strstr(text, kinds[i].marks[0]) && strstr(text, kinds[i].marks[1]))
            return kinds[i].said;
    return NULL;
}

void rh_other_file_tell(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, NULL);
    const char *said = text ? rh_other_file(text) : NULL;
    if (!said || !error)
        return;
    g_clear_error(error);
    rh_ignore_failure(rh_fail(error, RH_ERROR_INPUT, "%s: %s", path, said));
}
