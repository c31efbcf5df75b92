/* Questions whose answers are related, and ends that come from outside. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json.h"
#include "tests/attack/attack.h"

/* Steps may pass each other by a little where bandwidth changes the order of what meets on a link.
 */
#define ANOMALY_FRAC 0.02

static const char *const layouts[] = {"tp1,mb1", "tp2,mb1",    "tp2,pp2,mb1",
                                      "pp4,mb1", "zero=3,mb1", "tp4,mb1,recompute=full",
                                      "pp2,mb2", "zero=1,mb1", NULL};
static const char *const platforms[] = {"dgx-h100", "dgx-a100", "h100-sxm:4x4,ib:400Gb/s",
                                        "h100-sxm:2x8,nvlink:100GB/s,ib:100Gb/s,leaf:2,oversub:2",
                                        NULL};

typedef struct {
    const char *model, *platform, *layout, *extra;
    int batch, sequence, gpus;
} Job;

static Job some_job(Attack *a)
{
    return (Job){RH_ATTACK_PICK(a, "llama-3.2-1b", "gpt2"),
                 rh_attack_pick(a, platforms),
                 rh_attack_pick(a, layouts),
                 "",
                 16 << rh_attack_below(a, 3),
                 512 << rh_attack_below(a, 2),
                 8 << rh_attack_below(a, 2)};
}

static Answer simulate(Attack *a, const Job *job, const char *extra)
{
    return rh_attack_run_line(a,
                              "simulate -w %s -p %s -s %s --global-batch %d --seq %d --gpus %d "
                              "--json --timeout 60s %s",
                              job->model, job->platform, job->layout, job->batch, job->sequence,
                              job->gpus, extra);
}

/* Seconds of a step; 0 when it was refused. */
static double step_of(Attack *a, const Answer *answer)
{
    g_autoptr(GError) error = NULL;
    if (answer->status != 0)
        return 0;
    g_autoptr(RhJson) doc = rh_json_parse("answer", answer->out, strlen(answer->out), &error);
    if (!doc) {
        rh_attack_found(a, "the answer is no JSON: %s", error->message);
        return 0;
    }
    double step_s = rh_json_number(doc, rh_json_root(doc), "step_time_s", 0, 1e12);
    if (!(step_s > 0))
        rh_attack_found(a, "a step of %g s", step_s);
    return step_s;
}

static double step_with(Attack *a, const Job *job, const char *extra)
{
    g_auto(Answer) answer = simulate(a, job, extra);
    return step_of(a, &answer);
}

/* The second is no longer than the first. */
static void no_longer(Attack *a, double first_s, double second_s, const char *why)
{
    if (first_s > 0 && second_s > first_s * (1 + ANOMALY_FRAC))
        rh_attack_found(a, "%s: %.9g s became %.9g s, %+.2f %%", why, first_s, second_s,
                        100 * (second_s / first_s - 1));
}

static void more_is_not_slower(Attack *a)
{
    static const char *const better[][2] = {
        {"--set nic.bandwidth=100Gb/s", "--set nic.bandwidth=150Gb/s"},
        {"--set nvlink.bandwidth=100GB/s", "--set nvlink.bandwidth=450GB/s"},
        {"--set nic.latency=20us", "--set nic.latency=5us"},
        {"--set device.gemm.bf16=0.5", "--set device.gemm.bf16=0.9"},
        {"--set device.hbm_bandwidth=1TB/s", "--set device.hbm_bandwidth=3TB/s"},
        {"--set device.kernel_floor=10us", "--set device.kernel_floor=2us"},
    };
    Job job = some_job(a);
    uint64_t which = rh_attack_below(a, G_N_ELEMENTS(better));
    double first_s = step_with(a, &job, better[which][0]),
           second_s = step_with(a, &job, better[which][1]);
    no_longer(a, first_s, second_s, better[which][1]);
}

static void twice_the_batch_is_longer(Attack *a)
{
    Job job = some_job(a);
    double small_s = step_with(a, &job, "");
    job.batch *= 2;
    double large_s = step_with(a, &job, "");
    if (small_s > 0 && large_s > 0 && large_s < small_s)
        rh_attack_found(a, "twice the batch takes %.9g s, once %.9g s", large_s, small_s);
}

static void nothing_but_words_changes_nothing(Attack *a)
{
    static const char *const same[] = {"-j 1", "--seed 7", "-q", "--unfolded", NULL};
    Job job = some_job(a);
    const char *extra = rh_attack_pick(a, same);
    double first_s = step_with(a, &job, ""), second_s = step_with(a, &job, extra);
    bool exact = strcmp(extra, "--unfolded") != 0; /* sums in another order */
    double off = first_s > 0 ? second_s / first_s - 1 : 0;
    if (exact ? off != 0 : off > 1e-4 || off < -1e-4)
        rh_attack_found(a, "%s: %.12g s became %.12g s", extra, first_s, second_s);
}

/* --- keys in another order --- */

static void put_shuffled(Attack *a, RhJson *doc, GString *out, const RhJsonNode *node);

static void put_members(Attack *a, RhJson *doc, GString *out, const RhJsonNode *node, bool object)
{
    g_autoptr(GPtrArray) members = g_ptr_array_new();
    for (const RhJsonNode *n = rh_json_first(node); n; n = rh_json_next(n))
        g_ptr_array_add(members, (void *)n);
    for (guint i = members->len; object && i > 1; i--) {
        guint k = (guint)rh_attack_below(a, i);
        gpointer swapped = members->pdata[i - 1];
        members->pdata[i - 1] = members->pdata[k];
        members->pdata[k] = swapped;
    }
    g_string_append_c(out, object ? '{' : '[');
    for (guint i = 0; i < members->len; i++) {
        const RhJsonNode *n = members->pdata[i];
        if (object)
            g_string_append_printf(out, "%s\"%s\": ", i ? ", " : "", rh_json_key(n));
        else
            g_string_append(out, i ? ", " : "");
        put_shuffled(a, doc, out, n);
    }
    g_string_append_c(out, object ? '}' : ']');
}

/* Writes a document of the catalogue with its keys shuffled: texts without escapes, numbers, lists
 * and objects. */
static void put_shuffled(Attack *a, RhJson *doc, GString *out, const RhJsonNode *node)
{
    RhJsonKind kind = rh_json_kind(node);
    if (kind == RH_JSON_OBJECT || kind == RH_JSON_ARRAY)
        put_members(a, doc, out, node, kind == RH_JSON_OBJECT);
    else if (kind == RH_JSON_TEXT)
        g_string_append_printf(out, "\"%s\"", rh_json_node_string(doc, node));
    else if (kind == RH_JSON_NUMBER)
        g_string_append_printf(out, "%.17g", rh_json_node_number(doc, node, -1e300, 1e300));
    else
        g_string_append(out, kind == RH_JSON_TRUE    ? "true"
                             : kind == RH_JSON_FALSE ? "false"
                                                     : "null");
}

static void order_of_keys_is_nothing(Attack *a)
{
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *path = g_build_filename(data ? data : RH_DATA_DIR, "platforms", "data",
                                             "clusters", "dgx-h100.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(path, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    if (!doc)
        return;
    put_shuffled(a, doc, text, rh_json_root(doc));
    g_file_set_contents("shuffled.json", text->str, -1, NULL);
    Job job = some_job(a);
    job.platform = path;
    double first_s = step_with(a, &job, "");
    job.platform = "./shuffled.json";
    double second_s = step_with(a, &job, "");
    if (first_s != second_s)
        rh_attack_found(a, "keys in another order: %.12g s became %.12g s", first_s, second_s);
}

void rh_attack_laws(Attack *a)
{
    static void (*const laws[])(Attack *) = {
        more_is_not_slower, more_is_not_slower, twice_the_batch_is_longer,
        nothing_but_words_changes_nothing, order_of_keys_is_nothing};
    laws[rh_attack_below(a, G_N_ELEMENTS(laws))](a);
}

/* --- ends from outside --- */

/* The command by itself, ended after some milliseconds or held to small files. */
static int run_ended(Attack *a, int signal_number, uint64_t after_ms, rlim_t file_bytes,
                     const char *const *argv)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit small = {file_bytes, file_bytes};
        if (file_bytes)
            setrlimit(RLIMIT_FSIZE, &small);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(126);
        execv(a->binary, (char *const *)argv);
        _exit(126);
    }
    if (signal_number) {
        g_usleep(1000 * after_ms);
        kill(pid, signal_number);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void check_leftovers(Attack *a)
{
    g_autoptr(GDir) folder = g_dir_open(".", 0, NULL);
    for (const char *name; folder && (name = g_dir_read_name(folder));)
        if (!g_str_has_prefix(name, "x."))
            rh_attack_found(a, "%s is left behind", name);
}

void rh_attack_ends(Attack *a)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGKILL, SIGPIPE};
    const char *const argv[] = {a->binary,
                                "simulate",
                                "-w",
                                "llama-3.2-1b",
                                "-p",
                                "dgx-h100",
                                "--gpus",
                                "8",
                                "--global-batch",
                                "16",
                                "--seq",
                                "512",
                                "-s",
                                "tp2,pp2,mb1",
                                "-o",
                                "x.json",
                                "-o",
                                "x.program.json",
                                "-o",
                                "x.trace.json.gz",
                                NULL};
    bool small = rh_attack_chance(a, 30);
    int number = signals[rh_attack_below(a, G_N_ELEMENTS(signals))];
    uint64_t after_ms = rh_attack_below(a, 250);
    g_autofree char *line = g_strjoinv(" ", (char **)argv);
    g_string_append_printf(a->lines, "  %s  (%s %d)\n", line, small ? "file limit" : "signal",
                           small ? 4096 : number);
    int status = run_ended(a, small ? 0 : number, after_ms, small ? 4096 : 0, argv);
    if (small && !(WIFEXITED(status) && WEXITSTATUS(status) <= 3))
        rh_attack_found(a, "wait status %d under a limit on files", status);
    rh_attack_check_json(a, "x.json");
    rh_attack_check_json(a, "x.program.json");
    if (small || number != SIGKILL) /* nobody can tidy up amid a write then */
        check_leftovers(a);
}
