#pragma once
/* The documents that samples are made of: a fact of the job. Packed, whole documents stand one behind
 * another in a sample, and a token attends to those before it in its own document; padded, a sample is
 * one document, and the rest of it is computed for nothing. Longer documents are cut to a sample. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* So many documents of a length. */
typedef struct {
    int64_t tokens, count;
} RhDocumentRun;

#define RH_DOCUMENT_RUNS_MAX 64
typedef struct {
    int32_t runs_count; /* 0: every sample is one document as long as it */
    RhDocumentRun runs[RH_DOCUMENT_RUNS_MAX];
    bool padded;
    double fill; /* part of a sample's tokens that are a document's; rh_documents_settle */
} RhDocuments;

/* "512", "300x5-2000x1" (five documents of 300 tokens to one of 2,000). RH_ERROR_USAGE; *documents
 * changes only on success. */
bool rh_documents_parse(const char *text, RhDocuments *documents,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sets `fill` for samples of so many tokens: of packed ones by filling samples first-fit (each
 * document into the first sample with room, as NeMo's first_fit_shuffle) with documents drawn by
 * `seed`; of padded ones the mean. */
void rh_documents_settle(RhDocuments *documents, int64_t sequence, uint64_t seed);
/* (query, key) pairs of one sample of so many tokens and one head that the documents' own masks leave:
 * of l tokens l^2 / 2, behind a window of w tokens l w - w^2 / 2, both ways l^2. Settled. */
double rh_documents_pairs(const RhDocuments *documents, int64_t sequence, int64_t window,
                          bool both_ways);
/* Tokens of the document in which the mean token stands: the sum of squares over the sum. */
double rh_documents_length(const RhDocuments *documents, int64_t sequence);
