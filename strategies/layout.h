#pragma once
/* A layout: how one training job is cut over the ranks. Plain data; copy freely.
 *
 * Text form (and the plan's):
 * tp8,pp16,dp64,cp1,ep1,vpp1,mb1,zero1,recompute=selective,schedule=1f1b,sp=on,order=tp-dp-pp
 * and, where the layers are not split evenly, those of each of the pp x vpp chunks in the order of
 * the model: stages=15-16x6-15 (16x6 is 16 six times; stages=even is the default) */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "workloads/ops.h"

/* Degrees and micro-batches are at most this (keys of search/screen.c rely on it). */
#define RH_LAYOUT_DEGREE_MAX (1 << 20)

typedef enum {
    RH_SCHEDULE_NONE,
    RH_SCHEDULE_GPIPE,
    RH_SCHEDULE_1F1B,
    RH_SCHEDULE_INTERLEAVED,
    RH_SCHEDULE_LAST
} RhScheduleKind;
/* Rank order, innermost first. */
typedef enum { RH_ORDER_NONE, RH_ORDER_TP_DP_PP, RH_ORDER_TP_PP_DP, RH_ORDER_LAST } RhOrder;

typedef struct {
    int32_t tp, pp, dp, cp, ep;
    int32_t vpp;        /* model chunks per stage; > 1 only with the interleaved schedule */
    int32_t microbatch; /* samples */
    int32_t zero;       /* 0..3 */
    RhRecompute recompute;
    RhScheduleKind schedule;
    bool sequence_parallel;
    RhOrder order;
    int32_t stage_layers_count; /* 0: even split; else pp*vpp entries of an uneven split */
    int16_t stage_layers[256];
} RhLayout;

/* What is asked of the job, besides model and platform. */
typedef struct {
    int64_t global_batch; /* samples */
    int64_t sequence;     /* tokens per sample */
    int32_t gpus;
    RhDtype dtype; /* bf16 or fp16 */
} RhJob;

/* Parses the text form; keys left out keep what *layout holds. "pp16" and "pp=16" both work.
 * RH_ERROR_USAGE with near keys and the place; nothing at all and a key given twice are errors. */
bool rh_layout_parse(const char *text, RhLayout *layout, GError **error);
/* The same from a file: lines go on like commas, '#' starts a comment. RH_ERROR_IO, RH_ERROR_INPUT
 * with file:line:column. */
bool rh_layout_load(const char *path, RhLayout *layout, GError **error);
/* The text form in full, caller frees. A dp still to be derived (0) has no text and is left out. */
char *rh_layout_format(const RhLayout *layout);
char *rh_layout_title(const RhLayout *layout); /* "tp4 pp8 dp2, micro-batch 1, ZeRO-1, selective
                                                  recompute", caller frees */
RhLayout rh_layout_default(void);
bool rh_layout_equal(const RhLayout *a, const RhLayout *b);
const char *rh_schedule_kind_name(RhScheduleKind kind);
const char *rh_order_name(RhOrder order);
const char *rh_recompute_name(RhRecompute recompute);
