#include "workloads/document_packing.h"

#include <gsl/gsl_rng.h>
#include <math.h>

#include "base/error.h"
#include "base/units.h"

#define TOKENS_MAX (INT64_C(1) << 28)
#define COUNT_MAX  1000000000
/* Number of documents drawn to estimate how full samples get; drawing goes on until they fill more
 * than SAMPLES samples, or DRAWS_MOST were drawn. */
#define DRAWS   4096
#define SAMPLES 64
/* a sample that holds more documents than this is full to a millionth */
#define DRAWS_MOST (1 << 20)

static bool read_run(const char *text, RhDocumentRun *run)
{
    g_auto(GStrv) parts = g_strsplit(text, "x", 2);
    run->count = 1;
    return parts[0] && rh_integer_parse(parts[0], 1, TOKENS_MAX, &run->tokens, NULL) &&
           (!parts[1] || rh_integer_parse(parts[1], 1, COUNT_MAX, &run->count, NULL));
}

bool rh_documents_parse(const char *text, RhDocuments *documents, GError **error)
{
    g_auto(GStrv) runs = g_strsplit(text, "-", -1);
    RhDocuments read = {.padded = documents->padded};
    bool fine = *runs != NULL;
    for (char **run = runs; fine && *run; run++)
        fine =
            read.runs_count < RH_DOCUMENT_RUNS_MAX && read_run(*run, &read.runs[read.runs_count++]);
    if (!fine)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "documents: \"%s\" is not a list of lengths\nnote: TOKENSxCOUNT-TOKENSxCOUNT... "
            "(%d at most), or the tokens that all have\n"
            "help: for example 512, 300x5-2000x1",
            text, RH_DOCUMENT_RUNS_MAX);
    *documents = read;
    return true;
}

/* --- sums over the list of document lengths --- */

static double length_of(const RhDocumentRun *run, int64_t sequence)
{
    return (double)MIN(run->tokens, sequence);
}

typedef struct {
    double count, tokens, squares;
} Sums;

static Sums sums_of(const RhDocuments *d, int64_t sequence)
{
    Sums sum = {0};
    for (int32_t i = 0; i < d->runs_count; i++) {
        double count = (double)d->runs[i].count, length = length_of(&d->runs[i], sequence);
        sum.count += count;
        sum.tokens += count * length;
        sum.squares += count * length * length;
    }
    return sum;
}

static double pairs_of(double length, double window, bool both_ways)
{
    double w = window > 0 ? fmin(window, length) : length;
    return both_ways ? length * length : length * w - 0.5 * w * w;
}

double rh_documents_pairs(const RhDocuments *d, int64_t sequence, int64_t window, bool both_ways)
{
    g_return_val_if_fail(d != NULL && d->runs_count > 0 && sequence > 0, 0);
    double sum = 0, of_sample = d->fill * (double)sequence / sums_of(d, sequence).tokens;
    for (int32_t i = 0; i < d->runs_count; i++)
        sum += (double)d->runs[i].count *
               pairs_of(length_of(&d->runs[i], sequence), (double)window, both_ways);
    return sum * of_sample;
}

double rh_documents_length(const RhDocuments *d, int64_t sequence)
{
    g_return_val_if_fail(d != NULL && d->runs_count > 0 && sequence > 0, 0);
    Sums sum = sums_of(d, sequence);
    return sum.squares / sum.tokens;
}

/* --- packing --- */

static int64_t drawn(const RhDocuments *d, gsl_rng *rng, double count, int64_t sequence)
{
    double at = gsl_rng_uniform(rng) * count;
    int32_t i = 0;
    while (i + 1 < d->runs_count && at >= (double)d->runs[i].count)
        at -= (double)d->runs[i++].count;
    return MIN(d->runs[i].tokens, sequence);
}

static int64_t shortest(const RhDocuments *d, int64_t sequence)
{
    int64_t least = sequence;
    for (int32_t i = 0; i < d->runs_count; i++)
        least = MIN(least, d->runs[i].tokens);
    return least;
}

/* Puts a document into the first sample that has room for it, else opens one; before `closed` none has room for any. */
static void pack(GArray *room, guint *closed, int64_t length, int64_t least, int64_t sequence)
{
    guint first;
    while (*closed < room->len && g_array_index(room, int64_t, *closed) < least)
        (*closed)++;
    for (first = *closed; first < room->len; first++)
        if (g_array_index(room, int64_t, first) >= length)
            break;
    if (first == room->len)
        g_array_append_val(room, sequence);
    g_array_index(room, int64_t, first) -= length;
}

/* Tokens of documents over the capacity of the samples that they fill; the last sample is left out,
 * as further documents would go on filling it. */
static double packed_fill(const RhDocuments *d, int64_t sequence, uint64_t seed)
{
    g_autoptr(GArray) room = g_array_new(FALSE, FALSE, sizeof(int64_t));
    double left = 0, count = sums_of(d, sequence).count;
    int64_t least = shortest(d, sequence);
    guint closed = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)seed);
    for (int n = 0; n < DRAWS_MOST && (n < DRAWS || room->len <= SAMPLES); n++)
        pack(room, &closed, drawn(d, rng, count, sequence), least, sequence);
    gsl_rng_free(rng);
    for (guint i = 0; i + 1 < room->len; i++)
        left += (double)g_array_index(room, int64_t, i);
    return room->len > 1 ? 1 - left / ((double)(room->len - 1) * (double)sequence) : 1;
}

void rh_documents_settle(RhDocuments *d, int64_t sequence, uint64_t seed)
{
    g_return_if_fail(d != NULL && (d->runs_count == 0 || sequence > 0));
    Sums sum = sums_of(d, sequence);
    d->fill = d->runs_count == 0 ? 1
              : d->padded        ? sum.tokens / sum.count / (double)sequence
                                 : packed_fill(d, sequence, seed);
}
