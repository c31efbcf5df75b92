#include "strategies/run/failure_rates.h"

#include <string.h>

#define HOUR_S 3600.0

/* Counts of the unexpected interruptions of 54 days on 16,384 H100. */
#define LLAMA_3_GPU_HOURS (54 * 24 * 16384.0)
#define LLAMA_3(name_, count, away, what)                                                          \
    {                                                                                              \
        .name = name_,                                                                             \
        .per_gpu_hour = {.value = (count) / LLAMA_3_GPU_HOURS,                                     \
                         .tag = RH_TAG_MEASURED,                                                   \
                         .source =                                                                 \
                             "The Llama 3 Herd of Models (arXiv:2407.21783), table 5: " what,      \
                         .date = "2024-07"},                                                       \
        .nodes_away = away,                                                                        \
    }
/* Rate of failures given for 1,000 days of nodes of 8 GPUs. */
#define PER_1000_NODE_DAYS(rate) ((rate) / (1000 * 8 * 24.0))
#define RSC(rate)                                                                                  \
    {                                                                                              \
        .name = "node",                                                                            \
        .per_gpu_hour = {.value = PER_1000_NODE_DAYS(rate),                                        \
                         .tag = RH_TAG_MEASURED,                                                   \
                         .source = "Kokolis et al. 2024 (arXiv:2410.21680), 11 months of A100",    \
                         .date = "2024-10"},                                                       \
        .nodes_away = 1,                                                                           \
    }

static const RhFailureRates rates_rows[] = {
    {.name = "llama-3",
     .about = "419 unexpected interruptions in 54 days on 16,384 H100 (Llama 3, table 5)",
     .components =
         {LLAMA_3("GPU", 148.0 + 19 + 17 + 6 + 6, 1,
                  "faulty GPU 148, SRAM 19, system processor 17, thermal 6, silent data "
                  "corruption 6"),
          LLAMA_3("HBM", 72.0, 1, "HBM3 72"), LLAMA_3("NIC", 7.0, 1, "NIC 7"),
          LLAMA_3("network", 35.0, 0, "switch or cable 35"),
          LLAMA_3("host", 32.0 + 3 + 3 + 2 + 2 + 2 + 2, 1,
                  "unplanned maintenance 32, SSD 3, power supply 3, chassis 2, IO board 2, "
                  "CPU 2, memory 2"),
          LLAMA_3("software", 54.0 + 7 + 2, 0, "software bug 54, NCCL watchdog 7, dependency 2")},
     .components_count = 6},
    {.name = "meta-rsc-1",
     .about = "6.50 failures in 1,000 node-days (Meta RSC-1)",
     .components = {RSC(6.50)},
     .components_count = 1},
    {.name = "meta-rsc-2",
     .about = "2.34 failures in 1,000 node-days (Meta RSC-2)",
     .components = {RSC(2.34)},
     .components_count = 1},
};

const char *const *rh_failure_rates_names(void)
{
    static const char *names[G_N_ELEMENTS(rates_rows) + 1];
    for (size_t i = 0; i < G_N_ELEMENTS(rates_rows); i++)
        names[i] = rates_rows[i].name;
    return names;
}

const RhFailureRates *rh_failure_rates_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rates_rows); i++)
        if (strcmp(rates_rows[i].name, name) == 0)
            return &rates_rows[i];
    return NULL;
}

double rh_failure_rates_per_gpu_hour(const RhFailureRates *rates)
{
    double sum = 0;
    for (int32_t i = 0; i < rates->components_count; i++)
        sum += rates->components[i].per_gpu_hour.value;
    return sum;
}

double rh_failure_rates_mtbf_s(const RhFailureRates *rates, int64_t gpus)
{
    return HOUR_S / (rh_failure_rates_per_gpu_hour(rates) * (double)gpus);
}

double rh_failure_rate_of_node_days(double per_1000)
{
    return PER_1000_NODE_DAYS(per_1000);
}

int32_t rh_failure_rates_find(const RhFailureRates *rates, const char *component)
{
    for (int32_t i = 0; i < rates->components_count; i++)
        if (g_ascii_strcasecmp(rates->components[i].name, component) == 0)
            return i;
    return -1;
}

char *rh_failure_rates_components(const RhFailureRates *rates)
{
    GString *out = g_string_new(NULL);
    for (int32_t i = 0; i < rates->components_count; i++)
        g_string_append_printf(out, "%s%s", i > 0 ? ", " : "", rates->components[i].name);
    return g_string_free(out, FALSE);
}
