#pragma once
/* The functions of rows of knobs (knob_rows.h), as RhKnob (knobs.h) has them. Private to the
 * table of knobs. */
#include "strategies/knobs.h"

/* knob_value_format.c: words of a layout in one line; NULL: nothing to say. */
char *rh_knob_title_always(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_above_1(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_expert_tensor(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_context(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_slice(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_cut_stages(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_local_replicas(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_halo(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_dispatch(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_overlap(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_microbatch(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_zero(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_shard(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_outer(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_secondary(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_narrow_gathers(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_codec(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_recompute(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_states(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_weights(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_offload(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_schedule(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_tensor_overlap(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_partition(const RhKnob *knob, const RhLayout *l);
char *rh_knob_title_stages(const RhKnob *knob, const RhLayout *l);

/* A cell of the table of plans. */
char *rh_knob_cell_recompute(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_context(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_expert_tensor(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_shard(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_outer(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_secondary(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_schedule(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_sequence_parallel(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_tensor_overlap(const RhKnob *knob, const RhLayout *l);
char *rh_knob_cell_order(const RhKnob *knob, const RhLayout *l);

/* knob_values.c: the next value to try. */
bool rh_knob_next_in_range(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value);
bool rh_knob_next_recompute(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value);
bool rh_knob_next_tensor(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_pipeline(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value);
bool rh_knob_next_context(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                          int32_t *value);
bool rh_knob_longer_context(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value);
bool rh_knob_next_data(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_ulysses(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                          int32_t *value);
bool rh_knob_next_slice(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_cut_stages(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value);
bool rh_knob_next_local_replicas(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                 int32_t *value);
bool rh_knob_next_halo(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_keys_and_values(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                  int32_t *value);
bool rh_knob_next_shard(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_expert(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_expert_tensor(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                int32_t *value);
bool rh_knob_next_dispatch(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value);
bool rh_knob_next_microbatch(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value);
bool rh_knob_next_chunks(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_next_partition(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value);
bool rh_knob_next_schedule(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value);
bool rh_knob_wider_context(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value);
bool rh_knob_wider_recompute(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value);
bool rh_knob_wider_again(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_wider_sequence_parallel(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                     int32_t *value);
bool rh_knob_wider_shard(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_wider_outer(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_wider_secondary(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value);
bool rh_knob_wider_codec(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value);
bool rh_knob_wider_overlap(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value);
bool rh_knob_wider_schedule(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value);

/* The next layout to try outside of the search. */
bool rh_knob_context_of_few_tokens(const RhProblem *c, RhLayout *l, int32_t step);
bool rh_knob_offload_instead(const RhProblem *c, RhLayout *l, int32_t step);
