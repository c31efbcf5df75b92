/* The traces that can be read. Where a format is described:
 * azure          Azure/AzurePublicDataset, AzureLLMInferenceDataset2023.md and 2024.md (b469a11)
 * mooncake       kvcache-ai/Mooncake, FAST25-release/traces (3b5a594); a hash stands for 512 tokens
 * bailian        alibaba-edu/qwen-bailian-usagetraces-anon: seconds, a hash stands for 16 tokens
 * burstgpt       HPMLL/BurstGPT README; requests that failed have 0 response tokens there
 * vidur          microsoft/vidur data/processed_traces (7d47513)
 * splitwise-sim  Mutinifni/splitwise-sim traces/test_trace.csv (8f99e7d)
 * llmservingsim  casys-kaist/LLMServingSim bench/ and its workloads (5daddb2) */
#include <string.h>

#include "workloads/requests/requests_read.h"

static const RhRequestFormat formats[] = {
    {"rehearse",
     true,
     true,
     {"input_tokens", "output_tokens", "arrival_s", "session", "priority", NULL, NULL},
     RH_CLOCK_S,
     0},
    {"rehearse-once",
     true,
     true,
     {"input_tokens", NULL, "arrival_s", NULL, "priority", NULL, NULL},
     RH_CLOCK_S,
     0},
    {"azure",
     false,
     true,
     {"ContextTokens", "GeneratedTokens", "TIMESTAMP", NULL, NULL, NULL, NULL},
     RH_CLOCK_DATE,
     0},
    {"mooncake",
     true,
     false,
     {"input_length", "output_length", "timestamp", NULL, NULL, "hash_ids", NULL},
     RH_CLOCK_MS,
     512},
    {"bailian",
     true,
     false,
     {"input_length", "output_length", "timestamp", NULL, NULL, "hash_ids", "chat_id"},
     RH_CLOCK_S,
     16},
    {"burstgpt",
     false,
     true,
     {"Request tokens", "Response tokens", "Timestamp", "Session ID", NULL, NULL, NULL},
     RH_CLOCK_S,
     0},
    {"vidur",
     false,
     true,
     {"num_prefill_tokens", "num_decode_tokens", "arrived_at", NULL, NULL, NULL, NULL},
     RH_CLOCK_S,
     0},
    {"splitwise-sim",
     false,
     true,
     {"prompt_size", "token_size", "arrival_timestamp", NULL, NULL, NULL, NULL},
     RH_CLOCK_S,
     0},
    {"llmservingsim",
     true,
     false,
     {"input_toks", "output_toks", "arrival_time", NULL, NULL, "input_tok_ids", NULL},
     RH_CLOCK_S,
     1},
    {"llmservingsim",
     true,
     false,
     {"input_toks", "output_toks", "arrival_time_ns", NULL, NULL, "input_tok_ids", NULL},
     RH_CLOCK_NS,
     1},
};

static int32_t known(const RhRequestFormat *format, const char *const *names)
{
    int32_t count = 0;
    for (int i = 0; i < RH_FIELDS_COUNT; i++)
        count += format->columns[i] && g_strv_contains(names, format->columns[i]);
    return count;
}

static bool has_lengths(const RhRequestFormat *f, const char *const *names)
{
    const char *output = f->columns[RH_FIELD_OUTPUT];
    return g_strv_contains(names, f->columns[RH_FIELD_INPUT]) &&
           (!output || g_strv_contains(names, output));
}

static const RhRequestFormat *best(const char *const *names, bool json, bool whole)
{
    const RhRequestFormat *found = NULL;
    int32_t most = 0;
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        const RhRequestFormat *f = &formats[i];
        if (!(json ? f->json : f->csv))
            continue;
        if (whole && !has_lengths(f, names))
            continue;
        int32_t count = known(f, names);
        if (count > most) {
            most = count;
            found = f;
        }
    }
    return found;
}

const RhRequestFormat *rh_request_format(const char *const *names, bool json)
{
    return best(names, json, true);
}

const RhRequestFormat *rh_request_format_near(const char *const *names, bool json)
{
    return best(names, json, false);
}

char *rh_requests_formats_text(const char *indent)
{
    static const RhRequestField order[] = {RH_FIELD_TIME,    RH_FIELD_INPUT,    RH_FIELD_OUTPUT,
                                           RH_FIELD_SESSION, RH_FIELD_PRIORITY, RH_FIELD_HASHES,
                                           RH_FIELD_MARK};
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        const RhRequestFormat *f = &formats[i];
        g_string_append_printf(out, "%s%-14s", indent, f->name);
        for (guint k = 0; k < G_N_ELEMENTS(order); k++)
            if (f->columns[order[k]])
                g_string_append_printf(out, "%s%s",
                                       k        ? ","
                                       : f->csv ? " "
                                                : " JSON lines: ",
                                       f->columns[order[k]]);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}
