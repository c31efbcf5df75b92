#pragma once
/* Preference training: a sample is a pair of sequences, the answer that was chosen and the one that
 * was rejected, each of half its tokens, which see nothing of each other.
 *
 * DPO (Rafailov et al. 2023, arXiv 2305.18290) trains on the log-probabilities of both beside those
 * of a reference, the model as it was: every micro-batch's forward is run by the reference, too,
 * whose weights lie beside the model's in the same shares. Beside adapters the reference is the
 * frozen base with these switched off (TRL: no ref_model where there is a peft_config). A reward
 * model learns a score of both, and ORPO or SimPO compare their log-probabilities alone: without a
 * reference. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "workloads/document_packing.h"

typedef enum {
    RH_PREFERENCE_NONE,
    RH_PREFERENCE_DPO,
    RH_PREFERENCE_REWARD,
    RH_PREFERENCE_FREE,
    RH_PREFERENCE_LAST
} RhPreference;

#define RH_PREFERENCE_CHOICES "dpo|reward|reference-free"

/* "dpo", "reward", "reference-free"; false: it is none of these. */
bool rh_preference_by_name(const char *name, RhPreference *out);
/* "DPO"; static. */
const char *rh_preference_title(RhPreference preference);
/* Makes each half of a sample of `sequence` tokens a document. RH_ERROR_USAGE where there are
 * documents, or the halves are not equal. */
bool rh_preference_halve(RhDocuments *documents, int64_t sequence,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
