/* Writes a check of the fabric before training: all-reduces inside a node and among all ranks,
 * measured by a few lines of PyTorch and compared with the plan's rates. */
#include "base/error.h"
#include "sim/collective/collective_benchmark.h"
#include "strategies/launch/framework.h"

#define BYTES (1024.0 * 1024 * 1024)
/* Fraction of the planned rate below which the check fails. Assumed: the factors of stacks in
 * training are 0.4 to 1 of the rate of collectives alone (docs/theory/stacks.md), so a sound fabric
 * is above the plan, and a lost rail or link far below. */
#define LEAST_FRAC 0.7

static const char program[] =
    "import os\n"
    "import sys\n"
    "import time\n\n"
    "import torch\n"
    "import torch.distributed as dist\n\n"
    "# where: (ranks, planned GB/s of bus bandwidth of an all-reduce of 1 GiB, as nccl-tests count it);\n"
    "# the plan's are of training, beside computation: alone a sound fabric reaches more\n"
    "planned = {%s}\n"
    "least = float(os.environ.get(\"PREFLIGHT_LEAST\", \"%s\"))  # of the planned rate\n\n"
    "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))\n"
    "dist.init_process_group(\"nccl\")\n"
    "buffer = torch.zeros(2**29, dtype=torch.bfloat16, device=\"cuda\")\n\n\n"
    "def measure(group, ranks, calls=20):\n"
    "    for call in range(calls + 5):\n"
    "        if call == 5:\n"
    "            torch.cuda.synchronize()\n"
    "            dist.barrier()\n"
    "            start = time.perf_counter()\n"
    "        dist.all_reduce(buffer, group=group)\n"
    "    torch.cuda.synchronize()\n"
    "    slowest = torch.tensor([time.perf_counter() - start], device=\"cuda\")\n"
    "    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)\n"
    "    seconds = slowest.item() / calls\n"
    "    return 2 * (ranks - 1) / ranks * buffer.numel() * 2 / seconds / 1e9\n\n\n"
    "slow = False\n"
    "for where, (ranks, rate) in planned.items():\n"
    "    group = dist.new_subgroups(ranks)[0] if ranks < dist.get_world_size() else None\n"
    "    measured = measure(group, ranks)\n"
    "    slow = slow or measured < least * rate\n"
    "    if dist.get_rank() == 0:\n"
    "        print(f\"preflight: all-reduce of 1 GiB in {where}: {measured:.1f} GB/s, \"\n"
    "              f\"planned {rate:.1f} GB/s ({measured / rate:.0%%})\", flush=True)\n"
    "dist.destroy_process_group()\n"
    "if slow:\n"
    "    sys.exit(f\"preflight: below {least:.0%%} of what was planned with; training is not \"\n"
    "             \"started (PREFLIGHT_LEAST=0 starts it all the same)\")\n";

/* Bus bandwidth of an all-reduce among the first so many ranks on otherwise idle links, bytes/s. */
static double bus_bytes_per_s(const RhPlatform *platform, int32_t ranks)
{
    g_autofree int32_t *nodes = g_new(int32_t, ranks);
    for (int32_t i = 0; i < ranks; i++)
        nodes[i] = i / platform->gpus_per_node;
    RhAlgo algo = rh_collective_choose(RH_OP_ALL_REDUCE, ranks, nodes, BYTES, platform, NULL);
    double seconds =
        rh_collective_estimate_s(RH_OP_ALL_REDUCE, algo, ranks, nodes, BYTES, platform) +
        rh_collective_launch_s(RH_OP_ALL_REDUCE, algo, ranks, nodes, platform);
    return rh_collective_bus_factor(RH_OP_ALL_REDUCE, ranks) * BYTES / seconds;
}

static void add_group(GString *out, const char *where, const RhPlatform *platform, int32_t ranks)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.1f", bus_bytes_per_s(platform, ranks) / 1e9);
    g_string_append_printf(out, "%s\"%s\": (%d, %s)", out->len > 0 ? ", " : "", where, ranks, text);
}

bool rh_launch_preflight(const RhProblem *c, RhLaunchText *t, GError **error)
{
    int32_t gpus = c->job.gpus, each = MIN(gpus, c->platform->gpus_per_node);
    if (gpus == 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--preflight: one GPU exchanges nothing\n"
                       "help: leave --preflight out");
    g_autoptr(GString) planned = g_string_new(NULL);
    if (each > 1)
        add_group(planned, "a node", c->platform, each);
    if (gpus > each)
        add_group(planned, "all ranks", c->platform, gpus);
    RhLaunchNumber least;
    g_autofree char *text =
        g_strdup_printf(program, planned->str, rh_launch_number(&least, LEAST_FRAC));
    rh_launch_file(t, RH_LAUNCH_PREFLIGHT_FILE, text);
    return true;
}
