#include "calibrate/measure/measure_samples.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/measure/progress.h"

#define SAMPLE_S_MIN 0.03
#define SAMPLE_S_MAX 0.5
#define REASONS_MAX  24
#define QUIET_S      10 /* seconds between lines of progress that are not shown on a terminal */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = 1;
    signal(number, SIG_DFL); /* a second signal ends the process at once */
}

void rk_stop_on_signals(void)
{
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
}

bool rk_is_stopped(void)
{
    return stopped != 0;
}

double rk_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void rk_host_cpu(char *out, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(out, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        break;
    }
    if (file != NULL)
        fclose(file);
}

void rk_date(char *out, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

/* Reasons for which samples were left out, each once. */
typedef struct {
    char text[REASONS_MAX][320];
    int count[REASONS_MAX];
} Reasons;

typedef struct {
    const RkDevice *device;
    FILE *out;
    double begin_s, budget_s, shown_s;
    size_t done, total;
    int tried[RK_CLASS_LAST], measured[RK_CLASS_LAST]; /* samples of each class */
    Reasons reasons;
} Run;

static void note(Reasons *reasons, RkClass cls, const RkError *why)
{
    char text[sizeof reasons->text[0]];
    snprintf(text, sizeof text, "%s: %s", rk_class_name(cls), why->text);
    for (int i = 0; i < REASONS_MAX; i++) {
        if (reasons->count[i] == 0)
            snprintf(reasons->text[i], sizeof reasons->text[i], "%s", text);
        if (strcmp(reasons->text[i], text) == 0) {
            reasons->count[i]++;
            return;
        }
    }
}

static void show(Run *run, const RkSample *sample)
{
    char now[64], line[160];
    double elapsed_s = rk_now_s() - run->begin_s;
    bool terminal = isatty(STDERR_FILENO) != 0;
    if (!terminal && elapsed_s - run->shown_s < QUIET_S)
        return;
    run->shown_s = elapsed_s;
    snprintf(now, sizeof now, "%s %s", rk_class_name(sample->cls), rh_dtype_name(sample->dtype));
    RkProgress progress = {run->done, run->total, elapsed_s, run->budget_s, now};
    rk_progress_line(&progress, line, sizeof line);
    if (terminal)
        fprintf(stderr, "\r\033[K%s", line);
    else
        fprintf(stderr, "%s\n", line);
}

static bool time_is_up(const Run *run)
{
    return rk_is_stopped() || rk_now_s() - run->begin_s > run->budget_s;
}

/* Time for a sample. Cheap samples leave time to expensive ones: several times the even share,
 * within bounds. */
static double share_s(const Run *run)
{
    double left_s = run->budget_s - (rk_now_s() - run->begin_s);
    double even_s = left_s / (double)(run->total - run->done + 1);
    return fmin(SAMPLE_S_MAX, fmax(SAMPLE_S_MIN, 4 * even_s));
}

/* Measures one sample; `listed` is written into the row, `shape` is what runs. */
static bool measure_one(Run *run, const RkSample *listed, const RkSample *shape)
{
    RkError why = {""};
    RkRawRow row = {.sample = *listed};
    run->tried[shape->cls]++;
    RkOutcome end = run->device->measure(run->device->self, shape, share_s(run), &row, &why);
    if (end == RK_MEASURED && row.seconds.median > 0) {
        run->measured[shape->cls]++;
        return rk_raw_write_row(run->out, &row);
    }
    if (end != RK_MEASURED)
        note(&run->reasons, shape->cls, &why);
    return end != RK_BROKEN;
}

static Run begin(const RkDevice *device, const RkOptions *options, FILE *out, size_t total)
{
    Run run = {.device = device, .out = out, .budget_s = options->budget_s, .total = total};
    run.begin_s = rk_now_s();
    return run;
}

/* Returns whether every class that was tried has a row; names the others. */
static bool all_classes_measured(const Run *run)
{
    bool all = true;
    for (int cls = 1; cls < RK_CLASS_LAST; cls++) {
        if (run->tried[cls] == 0 || run->measured[cls] > 0)
            continue;
        fprintf(stderr, "warning: %s was not measured at all\n", rk_class_name((RkClass)cls));
        all = false;
    }
    return all;
}

static RkExit finish(const Run *run, bool complete)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    for (int i = 0; i < REASONS_MAX && run->reasons.count[i] > 0; i++)
        fprintf(stderr, "note: %d left out, %s\n", run->reasons.count[i], run->reasons.text[i]);
    complete = all_classes_measured(run) && complete;
    fprintf(stderr, "%zu of %zu done in %.0f s%s\n", run->done, run->total,
            rk_now_s() - run->begin_s, complete ? "" : ": not complete, the file is valid");
    bool written = rk_raw_write_end(run->out, complete);
    if (!written)
        fprintf(stderr, "error: the output cannot be written\n");
    return complete && written ? RK_EXIT_OK : RK_EXIT_PARTIAL;
}

RkExit rk_run_samples(const RkDevice *device, const RkOptions *options, const RkSamples *samples,
                      FILE *out)
{
    Run run = begin(device, options, out, samples->count);
    bool going = rk_raw_write_head(out, &device->head);
    for (; going && run.done < samples->count && !time_is_up(&run); run.done++) {
        const RkSample *sample = &samples->items[run.done];
        show(&run, sample);
        going = measure_one(&run, sample, sample);
    }
    return finish(&run, going && run.done == samples->count);
}

/* --- A list --- */

static bool same_listed(const RkListed *a, const RkListed *b)
{
    return rk_sample_same_shape(&a->sample, &b->sample) && a->sample.bytes == b->sample.bytes;
}

size_t rk_list_first_like(const RkList *list, size_t line)
{
    size_t i = 0;
    while (!same_listed(&list->items[i], &list->items[line]))
        i++;
    return i;
}

bool rk_run_whole(const RkList *list, const char *kernel, RkRawRow row, FILE *out)
{
    int64_t launches = 0;
    for (size_t i = 0; i < list->count; i++)
        launches += list->items[i].count;
    row.sample.dtype = list->items[0].sample.dtype;
    return rk_raw_write_whole(out, kernel, launches, &row);
}

RkExit rk_run_list(const RkDevice *device, const RkOptions *options, const RkList *list, FILE *out)
{
    RkError why = {"the output cannot be written"};
    Run run = begin(device, options, out, list->count);
    bool going = rk_raw_write_head(out, &device->head);
    run.budget_s /= 2;
    for (; going && run.done < list->count && !time_is_up(&run); run.done++) {
        const RkListed *item = &list->items[run.done];
        show(&run, &item->sample);
        if (rk_list_first_like(list, run.done) == run.done)
            going = measure_one(&run, &item->sample, &item->shape);
    }
    bool complete = going && run.done == list->count && run.reasons.count[0] == 0;
    double left_s = options->budget_s - (rk_now_s() - run.begin_s);
    if (going && !rk_is_stopped() &&
        !device->measure_whole(device->self, list, fmax(1, left_s / 3), out, &why)) {
        fprintf(stderr, "warning: the list as a whole was not measured: %s\n", why.text);
        complete = false;
    }
    return finish(&run, complete);
}
