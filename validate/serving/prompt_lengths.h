#pragma once
/* Lengths of the prompts and answers of published data sets (validate/data/lengths.json), as quantiles
 * between which they are drawn. Prompts and answers are drawn independently of each other. */
#include "workloads/requests/requests.h"

#define RH_LENGTH_LEVELS_MAX 32

typedef struct {
    int32_t count;                       /* of levels; 0: no data set */
    double levels[RH_LENGTH_LEVELS_MAX]; /* ascending, from 0 to 1 */
    double input[RH_LENGTH_LEVELS_MAX], output[RH_LENGTH_LEVELS_MAX]; /* tokens at these levels */
} RhPromptLengths;

/* RH_ERROR_USAGE: there is no such data set; RH_ERROR_INPUT, RH_ERROR_IO of the file. */
bool rh_prompt_lengths_load(const char *name, RhPromptLengths *lengths,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the mean of what is drawn between quantiles. */
double rh_prompt_lengths_mean(const RhPromptLengths *lengths, const double *quantiles);
/* Stretches the answers of the data set to those of a model that makes `mean` tokens on average; none gets
 * longer than the longest. */
void rh_prompt_lengths_stretch(RhPromptLengths *lengths, double mean);
/* Gives the requests lengths of this distribution in place of theirs. */
void rh_prompt_lengths_draw(const RhPromptLengths *lengths, uint64_t seed, RhRequests *requests);
