/* Edited files: what the program reads, with bytes, numbers and lines changed. */
#include <stdio.h>
#include <string.h>

#include "base/interned_strings.h"
#include "tests/attack/attack.h"

static void write_file(const char *path, const GString *text)
{
    g_file_set_contents(path, text->str, (gssize)text->len, NULL);
}

static GString *load(const char *path)
{
    char *text = NULL;
    gsize length = 0;
    GString *out = g_string_new(NULL);
    if (g_file_get_contents(path, &text, &length, NULL))
        g_string_append_len(out, text, (gssize)length);
    g_free(text);
    return out;
}

static const char *data_path(const char *folder, const char *name)
{
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *path = g_build_filename(data ? data : RH_DATA_DIR, folder, name, NULL);
    return rh_intern(path);
}

/* --- edits --- */

/* Returns the place of the first run of digits at or after `from`; -1 if there is none. */
static gssize number_at(const GString *text, size_t from)
{
    size_t at = from + strcspn(text->str + from, "0123456789");
    return at < text->len ? (gssize)at : -1;
}

static void edit_number(Attack *a, GString *text)
{
    gssize at = number_at(text, rh_attack_below(a, text->len));
    if (at < 0)
        return;
    size_t length = strspn(text->str + at, "0123456789.eE+-");
    g_string_erase(text, at, (gssize)length);
    g_string_insert(text, at,
                    rh_attack_chance(a, 50)
                        ? RH_ATTACK_PICK(a, "0", "-1", "1", "2", "3", "256", "1e300", "-0",
                                         "2147483648", "9007199254740992", "1e-300", "0.5", "65")
                        : rh_attack_value(a));
}

static void edit_bytes(Attack *a, GString *text)
{
    static const char *const bits[] = {
        "\"",           "{",    "}",  "[",          "]",   ",",    ":",    "\\",
        "\n",           "/*",   "//", "\\u001b[2J", "\\n", "\xff", "null", "true",
        "\xef\xbb\xbf", "\"\"", "-",  NULL};
    size_t at = rh_attack_below(a, text->len + 1), length = rh_attack_below(a, 40);
    if (rh_attack_chance(a, 50))
        g_string_insert(text, (gssize)at, rh_attack_pick(a, bits));
    else if (at < text->len && rh_attack_chance(a, 50))
        text->str[at] = (char)rh_attack_draw(a);
    else
        g_string_erase(text, (gssize)at, (gssize)MIN(length, text->len - at));
}

static void edit_lines(Attack *a, GString *text)
{
    size_t from = rh_attack_below(a, text->len), most = text->len - from;
    size_t length = rh_attack_below(a, 200);
    length = MIN(length, most);
    g_autofree char *segment = g_strndup(text->str + from, length);
    if (rh_attack_chance(a, 50))
        g_string_insert(text, (gssize)rh_attack_below(a, text->len), segment);
    else if (rh_attack_chance(a, 30))
        g_string_truncate(text, from);
    else
        g_string_erase(text, (gssize)from, (gssize)length);
}

/* Into a text: what must not reach a terminal. */
static void edit_text(Attack *a, GString *text)
{
    const char *name = strstr(text->str, RH_ATTACK_PICK(a, "\"name\": \"", "\"source\": \"",
                                                        "\"description\": \"", "\"label\": \""));
    const char *place = name ? strchr(name + 2, '"') : NULL;
    place = place ? strchr(place + 1, '"') : NULL;
    if (place)
        g_string_insert(
            text, place + 1 - text->str,
            RH_ATTACK_PICK(a, "\\u001b[2J", "\\n", "\\r", "\xe2\x80\xae", "|", "\\u009b"));
}

static void edit(Attack *a, GString *text)
{
    if (rh_attack_chance(a, 15))
        edit_text(a, text);
    for (uint64_t i = 1 + rh_attack_below(a, 3); i > 0 && text->len > 1; i--) {
        uint64_t way = rh_attack_below(a, 10);
        if (way < 6)
            edit_number(a, text);
        else if (way < 8)
            edit_bytes(a, text);
        else
            edit_lines(a, text);
    }
}

/* --- the files --- */

static void use_platform(Attack *a)
{
    g_autoptr(GString) text =
        load(data_path("platforms/data/clusters",
                       RH_ATTACK_PICK(a, "dgx-h100.json", "lab-tree.json", "lab-2x4.json")));
    edit(a, text);
    write_file("platform.json", text);
    g_auto(Answer) check = rh_attack_run_line(a, "check platform.json");
    rh_attack_try_line(a, "show platforms ./platform.json");
    g_auto(Answer) run = rh_attack_run_line(a, "simulate -w llama-3.2-1b -p ./platform.json "
                                               "--global-batch 8 --seq 512 -s tp2,mb1 --gpus 4 "
                                               "--timeout 3s");
    if (check.status != 0 && run.status == 0)
        rh_attack_found(a, "check refuses what simulate takes: %s", check.err);
}

static void use_device(Attack *a)
{
    g_autoptr(GString) text = load(data_path(
        "platforms/data/devices", RH_ATTACK_PICK(a, "h200-sxm.json", "a100-sxm-80.json")));
    edit(a, text);
    write_file("device.json", text);
    rh_attack_try_line(a, "check device.json");
    rh_attack_try_line(a, "simulate -w llama-3.2-1b -p ./device.json:2x1 "
                          "--global-batch 8 --seq 512 -s tp2,mb1 --timeout 3s");
}

static void use_model(Attack *a)
{
    g_autoptr(GString) text =
        load(data_path("workloads/data", RH_ATTACK_PICK(a, "llama-3.2-1b.json", "gpt2.json",
                                                        "llama-3.1-8b.json", "qwen2.5-0.5b.json")));
    edit(a, text);
    write_file("model.json", text);
    rh_attack_try_line(a, "check model.json");
    rh_attack_try_line(a, "simulate -w ./model.json -p dgx-h100 --gpus 4 "
                          "--global-batch 8 --seq 512 -s tp2,mb1 --timeout 3s");
    rh_attack_try_line(a, "plan -w ./model.json -p dgx-h100 --gpus 8 --quick "
                          "--global-batch 8 --seq 512 --timeout 3s");
}

static void use_result(Attack *a)
{
    rh_attack_try_line(a, "plan -w llama-3.2-1b -p dgx-h100 --gpus 8 --quick "
                          "--global-batch 16 --seq 512 -o plan.json");
    g_autoptr(GString) text = load("plan.json");
    edit(a, text);
    write_file("plan.json", text);
    rh_attack_try_line(a, "check plan.json");
    rh_attack_try_line(a, "explain plan.json %s --timeout 5s",
                       RH_ATTACK_PICK(a, "", "--term compute", "--vs 2", "--why-not tp8",
                                      "--what-if nic.bandwidth=100Gb/s"));
    rh_attack_try_line(a,
                       "simulate -w llama-3.2-1b -p dgx-h100 --gpus 8 --global-batch 16 --seq 512 "
                       "-s plan.json#%s --timeout 3s",
                       RH_ATTACK_PICK(a, "1", "2", "99"));
    rh_attack_try_line(a, "compare plan.json plan.json#2");
}

static void use_program(Attack *a)
{
    rh_attack_try_line(a,
                       "simulate -w llama-3.2-1b -p dgx-h100 --gpus 4 --global-batch 8 --seq "
                       "512 -s %s --set layers=2 -o x.program.json",
                       RH_ATTACK_PICK(a, "tp2,pp2,mb1", "tp2,mb1,zero=3", "pp4,mb1"));
    g_autoptr(GString) text = load("x.program.json");
    edit(a, text);
    write_file("x.program.json", text);
    rh_attack_try_line(a, "check x.program.json");
}

/* A platform that leaves most to another. */
static void use_derived(Attack *a)
{
    static const char *const facts[] = {
        "\"nic\": {\"bandwidth\": {\"value\": \"200Gb/s\", \"tag\": \"assumed\", \"source\": \"x\"}}",
        "\"gpus_per_node\": 4",
        "\"nics_per_node\": 2",
        "\"nodes\": 3",
        "\"tiers\": []",
        "\"device\": \"a100-sxm-80\"",
        "\"messages\": null",
        "\"device\": \"./platform.json\"",
        NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "{\"name\": \"mine\", \"derives\": \"%s\"",
                           RH_ATTACK_PICK(a, "dgx-h100", "lab-star", "lab-tree", "./platform.json",
                                          "dgx-h100:2", "h100-sxm:8x2,ib:400Gb/s", "/dev/null"));
    for (uint64_t i = rh_attack_below(a, 4); i > 0; i--)
        g_string_append_printf(text, ", %s", rh_attack_pick(a, facts));
    g_string_append(text, "}\n");
    if (rh_attack_chance(a, 40))
        edit(a, text);
    write_file("platform.json", text);
    rh_attack_try_line(a, "check platform.json");
    rh_attack_try_line(a, "show platforms ./platform.json");
    rh_attack_try_line(a, "simulate -w llama-3.2-1b -p ./platform.json "
                          "--global-batch 12 --seq 512 -s mb1 --timeout 3s");
}

/* Another job on the same fabric. */
static void use_jobs(Attack *a)
{
    g_autoptr(GString) text = g_string_new(
        "{\"name\": \"other\", \"workload\": \"llama-3.2-1b\", \"layout\": \"tp2,mb1\", \"nodes\": \"2-3\",\n"
        " \"global_batch\": 16, \"sequence\": 512, \"start\": \"1ms\", \"steps\": 2}\n");
    if (rh_attack_chance(a, 80))
        edit(a, text);
    write_file("job.json", text);
    rh_attack_try_line(
        a,
        "simulate -w llama-3.2-1b -p h100-sxm:2x4,ib:400Gb/s --gpus 4 --global-batch 8 --seq 512 -s "
        "mb1 --beside job.json --timeout 5s --on %s",
        RH_ATTACK_PICK(a, "0-1", "0,1", "1-0", "0-3", "9", "0-1048576", "-", "0,0"));
}

void rh_attack_files(Attack *a)
{
    static void (*const uses[])(Attack *) = {use_platform, use_device,  use_model, use_result,
                                             use_program,  use_derived, use_jobs};
    uses[rh_attack_below(a, G_N_ELEMENTS(uses))](a);
}

/* --- tables --- */

static void use_raw(Attack *a)
{
    const char *data = g_getenv("REHEARSE_DATA");
    g_autofree char *path = g_build_filename(data ? data : RH_DATA_DIR, "tests", "data",
                                             "synthetic-kernels.raw.csv", NULL);
    g_autoptr(GString) text = load(path);
    edit(a, text);
    write_file("x.raw.csv", text);
    g_auto(Answer) fit =
        rh_attack_run_line(a, "calibrate --from x.raw.csv -d h200-sxm -o gpu.json --timeout %s",
                           RH_ATTACK_PICK(a, "1s", "10ms", "60s"));
    if (fit.status == 0)
        rh_attack_check_json(a, "gpu.json");
    g_auto(Answer) check = rh_attack_run_line(a, "check gpu.json");
    if (fit.status == 0 && check.status != 0)
        rh_attack_found(a, "check refuses what calibrate wrote: %s", check.err);
}

static void use_pings(Attack *a)
{
    static const char *const latencies[] = {"1e-6", "1e-5", "1e-4", "1", "1e-9", NULL};
    static const char *const slopes[] = {"0", "1e-12", "2.5e-11", "1e-8", "1e-7", "1e-3", NULL};
    g_autoptr(GString) text = g_string_new("kind,source,destination,bytes,seconds\n");
    double latency = g_ascii_strtod(rh_attack_pick(a, latencies), NULL),
           slope = g_ascii_strtod(rh_attack_pick(a, slopes), NULL);
    uint64_t factor = 2 + rh_attack_below(a, 15), pairs = 1 + rh_attack_below(a, 3);
    for (double bytes = (double)(1 + rh_attack_below(a, 64)); bytes < 1e6; bytes *= (double)factor)
        for (uint64_t pair = 0; pair < 5 * pairs; pair++)
            g_string_append_printf(text, "trip,%d,%d,%.0f,%.9g\n", (int)(pair % pairs),
                                   (int)(8 + pair % pairs), bytes, latency + slope * bytes);
    if (rh_attack_chance(a, 50))
        edit(a, text);
    write_file("pings.csv", text);
    g_auto(Answer) fit = rh_attack_run_line(
        a, "calibrate --from pings.csv -p %s -o net.json --timeout 5s",
        RH_ATTACK_PICK(a, "dgx-h100:2", "lab-star", "lab-2x4", "lab-tree", "dgx-h100"));
    if (fit.status == 0)
        rh_attack_check_json(a, "net.json");
    g_auto(Answer) check = rh_attack_run_line(a, "check net.json");
    if (fit.status == 0 && check.status != 0)
        rh_attack_found(a, "check refuses what calibrate wrote: %s", check.err);
}

/* Published training steps, for a stack's constants. */
static void use_steps(Attack *a)
{
    g_autoptr(GString) text = load(data_path("calibrate/data", "published-steps.csv"));
    edit(a, text);
    write_file("steps.csv", text);
    g_auto(Answer) fit = rh_attack_run_line(
        a, "calibrate --stack megatron --from steps.csv -o stack.json --timeout 2s");
    if (fit.status == 0)
        rh_attack_check_json(a, "stack.json");
}

void rh_attack_tables(Attack *a)
{
    if (rh_attack_chance(a, 25)) {
        use_steps(a);
        return;
    }
    if (rh_attack_chance(a, 60))
        use_pings(a);
    else
        use_raw(a);
}
