#pragma once
/* What clients ask of a service: when a request comes, how long its prompt is, how many tokens it
 * wants. Read from traces (a table of formats, told by the names of their columns or keys; plain or
 * gzipped) or drawn. Knows nothing of engines or time to answer.
 *
 *     g_autoptr(RhRequests) trace = rh_requests_load("AzureLLMInferenceTrace_conv.csv.gz", false, &error);
 *     RhRequestsPlan plan = {RH_ARRIVAL_POISSON, .rate_per_s = 5, .count = 1000,
 *                            .input = {819, 1024}, .output = {205, 256}, .seed = 1};
 *     g_autoptr(RhRequests) drawn = rh_requests_draw(&plan); */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"

#define RH_REQUEST_TOKENS_MAX G_MAXINT32
#define RH_REQUESTS_MAX       50000000

typedef struct {
    double t_s;            /* arrival, from the first; ascending */
    int32_t input_tokens;  /* of the prompt, at least 1 */
    int32_t output_tokens; /* at least 1: no server takes a request for none */
    int32_t session,
        turn;         /* whose it is, by first appearance, and which of theirs; -1, 0: nobody's */
    int32_t priority; /* higher goes first */
    int32_t blocks_first, blocks_count; /* hashes of its prompt's blocks, into RhRequests.blocks; 0:
                                         * unknown */
} RhRequest;

typedef struct {
    GArray *list;         /* RhRequest */
    GArray *blocks;       /* uint64_t */
    int32_t block_tokens; /* tokens of a hashed block; 0: no hashes */
    bool timed;           /* false: a table of lengths; all come at once */
    bool once; /* nothing is said of answers: for models that are asked once; output_tokens is 1 */
    int64_t skipped_count;   /* malformed lines, with skip_bad */
    double chars_per_token;  /* by which lengths of texts were estimated; 0: tokens are counted */
    const char *passed_over; /* a column that changes cost and is not read; NULL: none; static */
    char *skipped_first;     /* what is wrong with the first of them; NULL: none; owned */
    const char *format;      /* whose table it is: "azure"; "drawn"; static */
} RhRequests;

/* Reads a trace; what follows is a row of requests_formats.c each:
 *   rehearse       arrival_s,input_tokens,output_tokens[,session][,priority], CSV or JSON lines
 *   rehearse-once  arrival_s,input_tokens[,priority], the same of models that make no tokens
 *   azure          TIMESTAMP,ContextTokens,GeneratedTokens (2023, 2024)
 *   mooncake       JSON lines: timestamp [ms], input_length, output_length, hash_ids (512 tokens)
 *   bailian        the same with chat_id, in seconds, blocks of 16 tokens
 *   burstgpt       Timestamp [s],[Session ID,]...,Request tokens,Response tokens,...
 *   vidur          [arrived_at [s],]num_prefill_tokens,num_decode_tokens (ShareGPT and others as lengths)
 *   splitwise-sim  ...,arrival_timestamp [s],...,prompt_size,token_size
 *   llmservingsim  JSON lines: input_toks, output_toks, arrival_time [s] or arrival_time_ns[, input_tok_ids]
 * Lines that are empty or begin with '#' are passed over. Without `skip_bad` the first malformed line
 * is RH_ERROR_INPUT as file:line:col, with a help; with it they are left out and counted. Malformed is
 * also what no server would take: no token of prompt or of answer, more than RH_REQUEST_TOKENS_MAX.
 * RH_ERROR_IO; RH_ERROR_INPUT for a table that none of these is, or that holds no request. */
RhRequests *rh_requests_load(const char *path, bool skip_bad,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same, and files of JSON that are no traces (requests_json.h): ShareGPT, OpenAI's batches, AIPerf,
 * vllm bench serve, SGLang's bench_serving, GuideLLM. Texts count a token for so many characters. */
RhRequests *rh_requests_load_any(const char *path, bool skip_bad, double chars_per_token,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same of text that is already here, plain or gzipped; `name` stands in messages. */
RhRequests *rh_requests_parse(const char *name, const void *text, size_t length, bool skip_bad,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhRequests *rh_requests_new(const char *format); /* none yet */
void rh_requests_free(RhRequests *requests);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRequests, rh_requests_free)

/* The formats' names and what tells them, a line each, for help and errors; caller frees. */
char *rh_requests_formats_text(const char *indent);

/* Sorts by time (equals stay in order), counts time from the first, and numbers turns. */
void rh_requests_settle(RhRequests *requests);

/* Stretches time so that the mean rate becomes this; what all come at once stays so. */
void rh_requests_at_rate(RhRequests *requests, double rate_per_s);
/* The first `count` of them, or all. */
void rh_requests_head(RhRequests *requests, int64_t count);
/* SHA-256 of what was read or drawn, hex; caller frees. */
char *rh_requests_hash(const RhRequests *requests);
/* Requests per second between the first and the last; 0 where all come at once. */
double rh_requests_rate_per_s(const RhRequests *requests);

typedef enum {
    RH_ARRIVAL_BURST,   /* all at once */
    RH_ARRIVAL_EVEN,    /* 1/rate apart */
    RH_ARRIVAL_POISSON, /* exponential gaps */
    RH_ARRIVAL_GAMMA,   /* gamma gaps: their coefficient of variation is 1/sqrt(burstiness) */
    RH_ARRIVAL_RAMP,    /* Poisson, its rate going linearly in time from one to the other */
} RhArrival;

typedef struct {
    int32_t low, high; /* drawn evenly, both included */
} RhLengthRange;

typedef struct {
    RhArrival arrival;
    double rate_per_s;     /* > 0 (RAMP: or 0) unless BURST; mean of requests */
    double rate_end_per_s; /* > 0, RAMP only */
    double burstiness;     /* > 0, GAMMA only: the shape; 1 is Poisson */
    int32_t count;         /* at least 1 */
    RhLengthRange input, output;
    bool once;     /* no answers are drawn (RhRequests.once) */
    int32_t turns; /* of each session; 0: no sessions */
    uint64_t seed;
    RhDeadline deadline; /* of drawing; zero: never */
} RhRequestsPlan;

/* Draws `count` requests, the first at 0. With turns, they are talks: each prompt is all that was said before
 * and `input` more; all turns of a talk have the arrival of its first, for clients wait for answers; talks
 * come at the rate over the turns. Arrivals and lengths have streams of their own, and gaps
 * scale with the rate: of one seed, another rate brings the same requests in the same order, nearer
 * to each other (common random numbers). The same seed gives the same bytes. NULL where the deadline passes before a
 * million and more are drawn. */
RhRequests *rh_requests_draw(const RhRequestsPlan *plan);
/* Gives the requests there, in their order, the arrivals of `plan`; its count and lengths are not
 * looked at. */
void rh_requests_arrive(RhRequests *requests, const RhRequestsPlan *plan);
