/* Command lines, --set, layouts and one-line platforms. */
#include <string.h>

#include "base/interned_strings.h"
#include "tests/attack/attack.h"

static const char *const models[] = {"llama-3.2-1b", "gpt2", "llama-3.1-8b", "qwen2.5-0.5b", NULL};
static const char *const platforms[] = {"dgx-h100",
                                        "dgx-h100:2",
                                        "dgx-a100:3",
                                        "h100-sxm:8x2,ib:400Gb/s",
                                        "h100-sxm:4x4,nvlink:450GB/s,ib:400Gb/s,leaf:2,oversub:2",
                                        "a100-sxm-80:3x5,ib:200Gb/s,nics:1",
                                        "lab-star",
                                        "lab-2x4",
                                        "lab-tree",
                                        NULL};
static const char *const stacks[] = {"megatron", "megatron-2021", "bare", "lab", NULL};
static const char *const numbers[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "7",
                                      "8",
                                      "64",
                                      "1000",
                                      "1048575",
                                      "1048576",
                                      "2147483647",
                                      "2147483648",
                                      "4294967296",
                                      "9007199254740993",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "-1",
                                      "-9223372036854775808",
                                      "1e3",
                                      "1e300",
                                      "1e-300",
                                      "0.5",
                                      "00008",
                                      "0x10",
                                      NULL};
static const char *const units[] = {"",  "s",  "us", "ms", "GB/s",    "Gb/s", "TB/s", "GiB",
                                    "B", "kB", "%",  "W",  "TFLOP/s", "USD",  "PiB",  NULL};
static const char *const oddities[] = {"",
                                       "nan",
                                       "inf",
                                       "-inf",
                                       "=",
                                       ",",
                                       "none",
                                       "on",
                                       "\xff\xfe",
                                       "\033[2J",
                                       "a\nb",
                                       "%s%n",
                                       "../../../etc/passwd",
                                       "/dev/null",
                                       "/",
                                       "#",
                                       "plan.json#1",
                                       "\xe2\x80\xae",
                                       "'\"`$(true)",
                                       NULL};

const char *rh_attack_value(Attack *a)
{
    if (rh_attack_chance(a, 15))
        return rh_attack_pick(a, oddities);
    g_autofree char *text = g_strconcat(rh_attack_pick(a, numbers), rh_attack_pick(a, units), NULL);
    return rh_intern(text);
}

static void add(GPtrArray *words, const char *word)
{
    g_ptr_array_add(words, (char *)rh_intern(word));
}

static void add_job(Attack *a, GPtrArray *words)
{
    add(words, "-w");
    add(words, rh_attack_pick(a, models));
    add(words, "-p");
    add(words, rh_attack_pick(a, platforms));
    add(words, "--global-batch");
    add(words, RH_ATTACK_PICK(a, "8", "16", "64", "96", "1", "7"));
    add(words, "--seq");
    add(words, RH_ATTACK_PICK(a, "512", "1024", "1", "2048", "1000"));
    add(words, "--timeout");
    add(words, "3s");
}

/* --- command lines --- */

static const char *const options[] = {"-w",       "-p",          "-s",
                                      "-o",       "--json",      "--seed",
                                      "-j",       "-q",          "-v",
                                      "--color",  "--top",       "--gap",
                                      "--quick",  "--fix",       "--limit",
                                      "--gpus",   "--set",       "--profile",
                                      "--stack",  "--dtype",     "--steps",
                                      "--jitter", "--trace",     "--unfolded",
                                      "--emit",   "--objective", "--term",
                                      "--vs",     "--why-not",   "--what-if",
                                      "--from",   "--device",    "--holdout",
                                      "--budget", "--lab",       "--beside",
                                      "--on",     "--variants",  "--global-batch",
                                      "--seq",    "--h",         "--help",
                                      "--",       "--no-such",   "-x",
                                      NULL};
static const char *const values[] = {"never",
                                     "json",
                                     "plan.json",
                                     "x.csv",
                                     "x.md",
                                     "x.svg",
                                     "x.trace.json.gz",
                                     "x.goal",
                                     "0-1",
                                     "job.json",
                                     "x.program.json",
                                     "tp2",
                                     "tp2,pp2",
                                     "tp8,pp=2,mb1",
                                     "tp<=4",
                                     "memory<=90%",
                                     "cost",
                                     "megatron",
                                     "bf16",
                                     "time",
                                     "compute",
                                     "layers=2",
                                     "nic.bandwidth=200Gb/s",
                                     "x.json#2",
                                     NULL};

void rh_attack_words(Attack *a)
{
    static const char *const commands[] = {"plan",    "simulate",  "explain",     "check", "show",
                                           "compare", "calibrate", "completions", "help",  NULL};
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    const char *command = rh_attack_pick(a, commands);
    add(words, command);
    bool asks = strcmp(command, "plan") == 0 || strcmp(command, "simulate") == 0;
    if (asks && rh_attack_chance(a, 80))
        add_job(a, words);
    if (strcmp(command, "simulate") == 0 && rh_attack_chance(a, 80)) {
        add(words, "-s");
        add(words, RH_ATTACK_PICK(a, "tp1", "tp2,mb1", "tp4,pp2,mb1", "pp4,mb1,recompute=full"));
    }
    if (strcmp(command, "plan") == 0)
        add(words, "--quick");
    if (strcmp(command, "show") == 0 && rh_attack_chance(a, 80))
        add(words, RH_ATTACK_PICK(a, "workloads", "platforms", "strategies", "stacks", "devices"));
    for (uint64_t i = rh_attack_below(a, 5); i > 0; i--) {
        if (rh_attack_chance(a, 80))
            add(words, rh_attack_pick(a, options));
        if (rh_attack_chance(a, 70))
            add(words, rh_attack_chance(a, 50) ? rh_attack_pick(a, values) : rh_attack_value(a));
    }
    rh_attack_try(a, words);
    rh_attack_check_json(a, "plan.json");
    rh_attack_check_json(a, "x.program.json");
}

/* --- --set --- */

static const char *const keys[] = {"nvlink.bandwidth",
                                   "nvlink.efficiency",
                                   "nvlink.latency",
                                   "nic.bandwidth",
                                   "nic.efficiency",
                                   "nic.latency",
                                   "host.bandwidth",
                                   "collective.launch",
                                   "messages.packet",
                                   "messages.header",
                                   "messages.reaction",
                                   "messages.noise",
                                   "messages.burst",
                                   "messages.window",
                                   "messages.copy",
                                   "price_per_gpu_hour",
                                   "device.hbm",
                                   "device.hbm_bandwidth",
                                   "device.power",
                                   "device.sustained_clock",
                                   "device.kernel_floor",
                                   "device.peak.bf16",
                                   "device.gemm.bf16",
                                   "device.gemm.k_half",
                                   "device.gemm.launch",
                                   "device.gemm.memory",
                                   "device.gemm.overlap",
                                   "device.gemm.wave_tail",
                                   "device.gemm.k_split",
                                   "device.attention",
                                   "device.attention.backward",
                                   "device.attention.s_half",
                                   "device.attention.d_half",
                                   "device.memory",
                                   "device.memory.bytes_half",
                                   "device.gemm.tile.128x128",
                                   "nodes",
                                   "gpus_per_node",
                                   "nics_per_node",
                                   "collective.sms",
                                   "leaf.oversubscription",
                                   "spine.hop_latency",
                                   "link.nic/node0/0/tx",
                                   "link.nvlink/node0/gpu0/up",
                                   "layers",
                                   "hidden",
                                   "heads",
                                   "kv_heads",
                                   "head_size",
                                   "ffn_width",
                                   "ffn",
                                   "vocab",
                                   "sequence",
                                   "global_batch",
                                   "gpus",
                                   "dtype",
                                   "model.layers",
                                   "job.gpus",
                                   "platform.nodes",
                                   "profile",
                                   "sequence_max",
                                   NULL};
/* Values that pass more often than not, near the ends of what may be. */
static const char *const near_ends[] = {
    "0s",  "100s", "1ns", "1kB/s", "10PB/s",   "0.001",   "1",    "0%",      "100%",
    "64B", "1GB",  "1B",  "1MiB",  "1PiB",     "1000000", "1024", "1048576", "2",
    "3",   "127",  "0",   "1e6",   "dies@1ms", "1000",    NULL};

void rh_attack_sets(Attack *a)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    bool plans = rh_attack_chance(a, 30);
    add(words, plans ? "plan" : "simulate");
    add_job(a, words);
    add(words, plans ? "--quick" : "-s");
    if (!plans)
        add(words, RH_ATTACK_PICK(a, "tp1,mb1", "tp2,mb1", "tp2,pp2,mb1", "zero=3,mb1"));
    for (uint64_t i = 1 + rh_attack_below(a, 3); i > 0; i--) {
        g_autofree char *text = g_strconcat(
            rh_attack_pick(a, keys), "=",
            rh_attack_chance(a, 60) ? rh_attack_pick(a, near_ends) : rh_attack_value(a), NULL);
        add(words, "--set");
        add(words, text);
    }
    if (rh_attack_chance(a, 30)) {
        add(words, "--stack");
        add(words, rh_attack_pick(a, stacks));
    }
    if (rh_attack_chance(a, 30))
        add(words, "--json");
    rh_attack_try(a, words);
}

/* --- layouts and one-line platforms --- */

static char *some_layout(Attack *a)
{
    static const char *const knobs[] = {"tp", "pp", "dp", "cp", "ep", "vpp", "mb", "zero", NULL};
    static const char *const degrees[] = {"1",  "2",   "3",   "4",    "8",       "16",
                                          "64", "128", "256", "1024", "1048576", NULL};
    static const char *const others[] = {"recompute=full",
                                         "recompute=selective",
                                         "recompute=none",
                                         "schedule=1f1b",
                                         "schedule=gpipe",
                                         "schedule=interleaved",
                                         "sp=on",
                                         "sp=off",
                                         "order=tp-pp-dp",
                                         "stages=even",
                                         "stages=1x16",
                                         "stages=8-8",
                                         "stages=1x255",
                                         "stages=32767-1",
                                         "stages=1x99999999999",
                                         "stages=-",
                                         "stages=0x2-16",
                                         NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    for (const char *const *knob = knobs; *knob; knob++)
        if (rh_attack_chance(a, 45))
            g_string_append_printf(text, "%s%s%s,", *knob, rh_attack_chance(a, 50) ? "=" : "",
                                   rh_attack_chance(a, 90) ? rh_attack_pick(a, degrees)
                                                           : rh_attack_value(a));
    for (uint64_t i = rh_attack_below(a, 3); i > 0; i--)
        g_string_append_printf(text, "%s,", rh_attack_pick(a, others));
    if (text->len > 0 && rh_attack_chance(a, 95))
        g_string_truncate(text, text->len - 1);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *some_line(Attack *a)
{
    static const char *const devices[] = {"h100-sxm", "a100-sxm-80", "b200-sxm", "h200-sxm", NULL};
    static const char *const sizes[] = {"8x2",   "1x1", "3x5", "1024x1024", "1024x1", "1x1048576",
                                        "16x64", "0x1", "8x",  "8x-1",      NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%s:%s", rh_attack_pick(a, devices),
                           rh_attack_chance(a, 60) ? "8x2" : rh_attack_pick(a, sizes));
    for (uint64_t i = rh_attack_below(a, 4); i > 0; i--)
        g_string_append_printf(
            text, ",%s:%s",
            RH_ATTACK_PICK(a, "nvlink", "ib", "eth", "nics", "latency", "oversub", "leaf", "rail"),
            rh_attack_chance(a, 60)
                ? RH_ATTACK_PICK(a, "1", "2", "400Gb/s", "450GB/s", "5us", "yes")
                : rh_attack_value(a));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void rh_attack_layouts(Attack *a)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autofree char *layout = some_layout(a), *line = some_line(a);
    add(words, "simulate");
    add_job(a, words);
    if (rh_attack_chance(a, 50))
        words->pdata[4] = (char *)rh_intern(line); /* behind -p */
    add(words, "-s");
    add(words, layout);
    if (rh_attack_chance(a, 40)) {
        add(words, "--set");
        add(words, RH_ATTACK_PICK(a, "layers=2", "layers=64", "layers=300", "layers=1000",
                                  "nodes=64", "gpus_per_node=16", "heads=64"));
    }
    if (rh_attack_chance(a, 40)) {
        add(words, "--gpus");
        add(words, RH_ATTACK_PICK(a, "1", "2", "4", "8", "16", "48", "256"));
    }
    if (rh_attack_chance(a, 20))
        add(words, "--unfolded");
    rh_attack_try(a, words);
}
