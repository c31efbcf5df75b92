/* Runs kernels on a GPU, in a process of rehearse-kernels: that program depends on the CUDA Toolkit
 * alone, under a licence of its own, and this one on neither. It gets the distinct kernels of the
 * program as a list; each bundle is a line of their numbers, answered when the GPU has run them
 * (calibrate/measure/kernel_server_protocol.h). A bundle starts late by the time of a pipe and a wake-up. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/find_companion_program.h"
#include "platforms/devices/kernels_to_measure.h"
#include "validate/perform/compute.h"

#define PROGRAM    "rehearse-kernels"
#define VARIABLE   "REHEARSE_KERNELS"
#define ANSWER_MAX 256

typedef struct {
    const RhProgram *program;
    int32_t *line_of; /* owned; line in the list of every kernel of the program */
    char *list_path;  /* owned; a temporary file */
    GPid child;
    FILE *orders, *answers;
} Cuda;

/* --- the list --- */

static int32_t line_of(GArray *list, const RhKernel *kernel)
{
    for (guint i = list->len; i-- > 0;) /* consecutive layers repeat, so the search goes
                                         * backwards */
        if (memcmp(&g_array_index(list, RhListedKernel, i).kernel, kernel, sizeof *kernel) == 0)
            return (int32_t)i;
    RhListedKernel listed = {.kernel = *kernel, .count = 1};
    g_array_append_val(list, listed);
    return (int32_t)list->len - 1;
}

static bool write_list(Cuda *x, GError **error)
{
    const GArray *kernels = x->program->kernels;
    g_autoptr(GArray) list = g_array_new(FALSE, TRUE, sizeof(RhListedKernel));
    x->line_of = g_new(int32_t, kernels->len + 1);
    for (guint i = 0; i < kernels->len; i++)
        x->line_of[i] = line_of(list, &g_array_index(kernels, RhKernel, i));
    if (list->len == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "--compute cuda: the program has no kernels, only waits");
    g_autofree char *text = rh_kernel_list_text(list, error);
    if (!text)
        return false;
    int fd = g_file_open_tmp("rehearse-XXXXXX.csv", &x->list_path, error);
    return fd >= 0 && g_close(fd, error) && g_file_set_contents(x->list_path, text, -1, error);
}

/* --- the process --- */

/* Device of a rank: the visible GPU if it is the only one; else GPUs are assigned to ranks of a
 * host in order. */
static int device_of(int place)
{
    const char *visible = g_getenv("CUDA_VISIBLE_DEVICES");
    return visible && *visible && !strchr(visible, ',') ? 0 : place;
}

static bool start(Cuda *x, int place, GError **error)
{
    g_autofree char *program = rh_companion_program(PROGRAM, VARIABLE);
    g_autofree char *device = g_strdup_printf("%d", device_of(place));
    int in = -1, out = -1;
    if (!program)
        return rh_fail(error, RH_ERROR_IO,
                       "--compute cuda needs " PROGRAM ", which is not beside this program nor on "
                       "the path\nhelp: build it where nvcc is, or name it: " VARIABLE "=FILE");
    const char *argv[] = {program, "--serve", x->list_path, "--device", device, NULL};
    if (!g_spawn_async_with_pipes(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &x->child,
                                  &in, &out, NULL, error))
        return false;
    x->orders = fdopen(in, "w");
    x->answers = fdopen(out, "r");
    return true;
}

static bool answered(Cuda *x, char line[ANSWER_MAX], const char *word)
{
    return fgets(line, ANSWER_MAX, x->answers) && g_str_has_prefix(line, word);
}

/* --- the worker --- */

static void forget_list(Cuda *x)
{
    if (x->list_path)
        g_unlink(x->list_path);
    g_clear_pointer(&x->list_path, g_free);
}

static void close_cuda(void *worker)
{
    Cuda *x = worker;
    if (x->orders)
        fclose(x->orders); /* the process ends when its input is closed */
    if (x->answers)
        fclose(x->answers);
    if (x->child)
        g_spawn_close_pid(x->child);
    forget_list(x);
    g_free(x->line_of);
    g_free(x);
}

static void *open_cuda(const RhProgram *p, int place, GError **error)
{
    Cuda *x = g_new0(Cuda, 1);
    char line[ANSWER_MAX];
    x->program = p;
    if (write_list(x, error) && start(x, place, error)) {
        bool ready = answered(x, line, "ready");
        forget_list(x); /* the file has been read */
        if (ready)
            return x;
        rh_fail(error, RH_ERROR_IO,
                "--compute cuda: " PROGRAM " did not get ready; what it says stands above");
    }
    close_cuda(x);
    return NULL;
}

static double run_bundle(void *worker, int32_t bundle)
{
    Cuda *x = worker;
    const RhBundle *b = &g_array_index(x->program->bundles, RhBundle, bundle);
    char line[ANSWER_MAX], *end = NULL;
    for (int32_t i = b->first; i < b->first + b->count; i++)
        fprintf(x->orders, "%d ", x->line_of[i]);
    if (fputs("\n", x->orders) < 0 || fflush(x->orders) != 0 || !answered(x, line, "done "))
        return -1;
    double t_end_s = g_ascii_strtod(line + strlen("done "), &end);
    return end == line + strlen("done ") ? -1 : t_end_s;
}

const RhWorker RH_WORKER_CUDA = {"cuda", open_cuda, run_bundle, close_cuda};
