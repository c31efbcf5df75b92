#pragma once
/* Shards of a study: which of several processes asks which questions, without a word between them.
 *
 * A question goes where the hash of its inputs says, so that any number of shards asks the same set,
 * and one shard more takes from each of the others its share and moves nothing else. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t index, count; /* the index counts from 0; count 0: none was said */
} RhStudyShard;

/* Reads "k/n", k from 1 to n. RH_ERROR_USAGE. */
bool rh_shard_parse(const char *text, RhStudyShard *shard,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Takes the shard from what a launcher sets: a Slurm array and the tasks of its steps (srun), PMI
 * (MPICH, Intel MPI) and Open MPI; a shard of an array whose tasks are many is parted again. *from:
 * the names of the variables, which the caller frees; NULL where there are none, and *shard is then
 * the whole. `get` is getenv(). RH_ERROR_USAGE for an array with gaps. */
bool rh_shard_of_environment(const char *(*get)(const char *name), RhStudyShard *shard, char **from,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does the shard ask the question of this key? */
bool rh_shard_has(RhStudyShard shard, const char *key);
