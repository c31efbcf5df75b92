/* The knobs of a layout, a row each, in the order of its text form. Included where rows become
 * something (fields of RhLayout, the table of knobs.c), which defines
 *
 *     RH_KNOB(type, field, ...)   a field of RhLayout, and what it is: RhKnob in strategies/knobs.h
 *
 * A knob is added by its row here and the file that uses its field. Functions that rows name are
 * in knob_value_format.c (how it is shown) and knob_values.c (which values are tried). */
RH_KNOB(int32_t, tp, .key = "tp", .degree = true, .low = 1, .high = RH_LAYOUT_DEGREE_MAX,
        .otherwise = 1, .column = RH_COLUMN_ALWAYS, .title = rh_knob_title_always, .walk = 10,
        .next = rh_knob_next_tensor, .part = 10, .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE,
        .example = "tp8", .about = "tensor parallel: each matrix over 8 GPUs of a node")
RH_KNOB(int32_t, pp, .key = "pp", .degree = true, .low = 1, .high = RH_LAYOUT_DEGREE_MAX,
        .otherwise = 1, .column = RH_COLUMN_ALWAYS, .title = rh_knob_title_always, .walk = 20,
        .next = rh_knob_next_pipeline, .part = 20, .keeps = RH_COMMON_ITEMS, .example = "pp16",
        .about = "pipeline parallel: the layers over 16 stages")
RH_KNOB(int32_t, dp, .key = "dp", .degree = true, .low = 1, .high = RH_LAYOUT_DEGREE_MAX,
        .column = RH_COLUMN_ALWAYS, .title = rh_knob_title_always, .walk = 30,
        .next = rh_knob_next_data, .part = 30,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "dp64",
        .about = "data parallel replicas; left out: what the GPUs allow")
RH_KNOB(
    int32_t, cp, .key = "cp", .degree = true, .low = 1, .high = RH_LAYOUT_DEGREE_MAX,
    .otherwise = 1, .column = RH_COLUMN_VARIES, .title = rh_knob_title_above_1, .walk = 25,
    .next = rh_knob_next_context, .beyond = rh_knob_longer_context, .part = 25,
    .wide = rh_knob_wider_context,
    .outside = "context parallelism with less than 2,048 tokens per rank",
    .outside_next = rh_knob_context_of_few_tokens,
    .outside_lacks = "has too few data-parallel replicas for it",
    .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "cp2",
    .about =
        "context parallel: each sequence over 2 GPUs, keys and values around a ring; pictures: see "
        "slice")
RH_KNOB(RhContextKind, kv, .key = "kv", .names = context_names, .high = RH_CONTEXT_LAST - 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_context,
        .legend = "kv: how context-parallel ranks get keys and values",
        .title = rh_knob_title_context, .walk = 27, .next = rh_knob_next_keys_and_values,
        .part = 27, .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "kv=gather",
        .about = "keys and values of context ranks: around a ring beside attention, or gathered "
                 "before it")
RH_KNOB(RhSlice, slice, .key = "slice", .names = slice_names, .high = RH_SLICE_LAST - 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_slice, .walk = 28,
        .next = rh_knob_next_slice, .part = 28, .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE,
        .example = "slice=vertical",
        .about = "pictures over cp GPUs (spatial parallelism): square tiles, columns (vertical) or "
                 "rows (horizontal); edges are exchanged at each convolution and pool")
RH_KNOB(int32_t, cp_stages, .key = "cpstages", .high = RH_LAYOUT_DEGREE_MAX, .quiet = true,
        .column = RH_COLUMN_VARIES, .title = rh_knob_title_cut_stages, .part = 29,
        .wide = rh_knob_next_cut_stages, .example = "cpstages=1",
        .about =
            "only the first stage is cut over cp GPUs, stages behind it run on one each, which "
            "gathers the tiles; 0: all stages are cut")
RH_KNOB(int32_t, local_dp, .key = "localdp", .low = 1, .high = RH_LAYOUT_DEGREE_MAX, .otherwise = 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_local_replicas,
        .part = 29, .wide = rh_knob_next_local_replicas, .example = "localdp=2",
        .about =
            "with cpstages: stages behind the cut ones run on 2 GPUs each, which share out the "
            "pictures of a micro-batch")
RH_KNOB(RhHalo, halo, .key = "halo", .names = halo_names, .high = RH_HALO_LAST - 1, .quiet = true,
        .column = RH_COLUMN_VARIES, .title = rh_knob_title_halo, .part = 31,
        .wide = rh_knob_next_halo, .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE,
        .example = "halo=layer",
        .about = "tiles exchange edges before each convolution and pool (step), or once before a "
                 "layer, wide enough for all of it, and compute these places twice (layer)")
RH_KNOB(int32_t, ulysses, .key = "ulysses", .degree = true, .low = 1, .high = RH_LAYOUT_DEGREE_MAX,
        .otherwise = 1, .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_above_1,
        .walk = 26, .next = rh_knob_next_ulysses, .part = 26,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "ulysses8",
        .about = "so many of the context ranks exchange tokens for heads around attention (all to "
                 "all)")
RH_KNOB(int32_t, ep, .key = "ep", .degree = true, .low = 1, .high = RH_LAYOUT_DEGREE_MAX,
        .otherwise = 1, .column = RH_COLUMN_VARIES, .title = rh_knob_title_above_1, .walk = 32,
        .next = rh_knob_next_expert, .part = 32, .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE,
        .example = "ep8",
        .about = "expert parallel: a mixture's experts over 8 ranks of a stage, tokens sent there")
RH_KNOB(int32_t, etp, .key = "etp", .degree = true, .high = RH_LAYOUT_DEGREE_MAX, .quiet = true,
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_expert_tensor,
        .title = rh_knob_title_expert_tensor, .walk = 34, .next = rh_knob_next_expert_tensor,
        .part = 34, .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "etp1",
        .about = "expert tensor parallel: each expert cut over so many ranks; 0: as tp")
RH_KNOB(RhDispatch, dispatch, .key = "dispatch", .names = dispatch_names,
        .high = RH_DISPATCH_LAST - 1, .quiet = true, .column = RH_COLUMN_VARIES,
        .title = rh_knob_title_dispatch, .walk = 36, .next = rh_knob_next_dispatch, .part = 36,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "dispatch=deepep",
        .about =
            "tokens to experts: a copy for each expert asked (alltoall), or one for each node and "
            "rank that has some (deepep)")
RH_KNOB(RhOverlap, overlap, .key = "epoverlap", .names = overlap_names, .high = RH_OVERLAP_LAST - 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_overlap, .part = 46,
        .wide = rh_knob_wider_overlap, .keeps = RH_COMMON_SPLIT | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "epoverlap=shared",
        .about =
            "what runs while tokens are on their way: none; shared: the shared expert; batches: "
            "the other half of the micro-batch; pairs: the backward of another micro-batch")
RH_KNOB(int32_t, vpp, .key = "vpp", .degree = true, .low = 1, .high = 1 << 16, .otherwise = 1,
        .column = RH_COLUMN_VARIES, .title = rh_knob_title_above_1, .variant = true, .walk = 60,
        .next = rh_knob_next_chunks, .part = 60, .keeps = RH_COMMON_ITEMS | RH_COMMON_NET,
        .example = "vpp2", .about = "model chunks per stage, with schedule=interleaved")
RH_KNOB(int32_t, microbatch, .key = "mb", .json = "microbatch", .low = 1,
        .high = RH_LAYOUT_DEGREE_MAX, .otherwise = 1, .column = RH_COLUMN_ALWAYS,
        .title = rh_knob_title_microbatch, .walk = 40, .next = rh_knob_next_microbatch, .part = 40,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "mb1", .about = "samples of one micro-batch; the rest accumulates")
RH_KNOB(int32_t, zero, .key = "zero", .high = 3, .otherwise = 1, .column = RH_COLUMN_ALWAYS,
        .title = rh_knob_title_zero, .walk = 70, .next = rh_knob_next_in_range, .part = 70,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "zero1",
        .about = "0: replicas hold all; 1: optimizer states cut over the replicas; 2: gradients "
                 "too; 3: weights too (FSDP)")
RH_KNOB(int32_t, shard, .key = "shard", .high = RH_LAYOUT_DEGREE_MAX, .quiet = true,
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_shard, .title = rh_knob_title_shard,
        .walk = 72, .next = rh_knob_next_shard, .part = 72, .wide = rh_knob_wider_shard,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "shard8",
        .about =
            "ZeRO's shares inside groups of 8 replicas, the same in every group (HSDP); 0: over "
            "all")
RH_KNOB(bool, outer, .key = "outer", .names = outer_names, .high = 1, .quiet = true,
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_outer, .title = rh_knob_title_outer,
        .part = 74, .wide = rh_knob_wider_outer,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "outer=optim",
        .about =
            "with zero3 and shard=8: optim, what each group has of the optimizer's states shared "
            "out over the groups (Megatron-FSDP)")
RH_KNOB(int32_t, hpz, .key = "hpz", .high = RH_LAYOUT_DEGREE_MAX, .quiet = true,
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_secondary,
        .title = rh_knob_title_secondary, .part = 76, .wide = rh_knob_wider_secondary,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "hpz8",
        .about = "with zero3, weights a second time over 8 replicas, gathered from there backward "
                 "(ZeRO++); 0: not")
RH_KNOB(bool, qwz, .key = "qwz", .names = switch_names, .high = 1, .quiet = true,
        .column = RH_COLUMN_VARIES, .title = rh_knob_title_narrow_gathers, .part = 77,
        .wide = rh_knob_wider_codec,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "qwz=on",
        .about = "with zero3, weights travel in 8 bits when they are gathered (qwZ of ZeRO++)")
RH_KNOB(RhPlace, states, .key = "states", .names = place_names, .high = RH_PLACE_LAST - 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_states, .part = 78,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "states=host",
        .about =
            "host: the optimizer's states are in the host's memory, which updates weights "
            "there; with zero2 and 3 gradients go there as they are made (ZeRO-Offload); nvme: "
            "on the node's drives, through the host (ZeRO-Infinity)")
RH_KNOB(int32_t, states_percent, .key = "hosted", .json = "states_percent", .low = 1, .high = 100,
        .otherwise = 100, .quiet = true, .column = RH_COLUMN_VARIES, .part = 79,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "hosted=50",
        .about = "with states=host: of so many percent of the parameters, the rest on the device "
                 "as else")
RH_KNOB(RhPlace, weights, .key = "params", .names = place_names, .high = RH_PLACE_LAST - 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_weights, .part = 80,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "params=host",
        .about =
            "with zero3 and states off the device: a rank's share of weights there, too, copied "
            "in ahead of each gather (ZeRO-3 Offload, ZeRO-Infinity)")
RH_KNOB(RhCodecKind, codec, .key = "codec", .names = rh_codec_names, .high = RH_CODEC_LAST - 1,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_codec, .part = 80,
        .wide = rh_knob_wider_codec,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "codec=onebit",
        .about = "what replicas exchange in place of sums of gradients: signs of the momentum "
                 "(onebit, onebit-lamb, zero-one: behind their warm-up)")
RH_KNOB(RhRecompute, recompute, .key = "recompute", .names = recompute_names,
        .words = rh_recompute_modules, .high = RH_RECOMPUTE_LAST - 1, .head = "recomp",
        .column = RH_COLUMN_ALWAYS, .cell = rh_knob_cell_recompute,
        .legend = "recomp: what backward recomputes; full N: N layers of a model chunk",
        .title = rh_knob_title_recompute, .walk = 80, .next = rh_knob_next_recompute, .part = 80,
        .wide = rh_knob_wider_recompute,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "recompute=selective",
        .about = "none, selective (attention's core), full (whole layers), or modules as "
                 "layernorm+moe_act")
RH_KNOB(int32_t, recomputed_layers_count, .key = "relayers", .json = "recomputed_layers",
        .low = RH_RECOMPUTED_FEWEST, .list = true,
        .entries = G_STRUCT_OFFSET(RhLayout, recomputed_layers), .names = again_names, .part = 82,
        .wide = rh_knob_wider_again, .keeps = RH_COMMON_ITEMS | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "relayers=8x2-4-0",
        .about =
            "how many layers of each chunk are recomputed, its first; one number: of all chunks; "
            "all, or least: as few as fit")
RH_KNOB(int32_t, offload, .key = "activations", .alias = "offload", .json = "offload", .high = 100,
        .quiet = true, .column = RH_COLUMN_VARIES, .title = rh_knob_title_offload,
        .outside = "activations offloaded to the host", .outside_next = rh_knob_offload_instead,
        .outside_lacks = "recomputes nothing", .instead = true,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET, .example = "activations=50",
        .about =
            "so many percent of what layers keep for backward wait in the host's memory, copied "
            "out and back beside kernels; planned in the place of recomputation where the "
            "framework does so")
RH_KNOB(RhPipelineKind, schedule, .key = "schedule", .names = rh_pipeline_kind_names, .low = 1,
        .high = RH_PIPELINE_LAST - 1, .otherwise = RH_PIPELINE_1F1B, .head = "sched",
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_schedule, .title = rh_knob_title_schedule,
        .walk = 50, .next = rh_knob_next_schedule, .part = 50, .wide = rh_knob_wider_schedule,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "schedule=1f1b",
        .about = "order of a stage's micro-batches; where vpp is above 1, interleaved")
RH_KNOB(bool, sequence_parallel, .key = "sp", .names = switch_names, .high = 1, .otherwise = 1,
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_sequence_parallel, .walk = 90,
        .next = rh_knob_next_in_range, .part = 43, .wide = rh_knob_wider_sequence_parallel,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "sp=on",
        .about = "sequence parallel: norms and residuals over the tensor group too")
RH_KNOB(bool, tensor_overlap, .key = "tpoverlap", .names = switch_names, .high = 1, .quiet = true,
        .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_tensor_overlap,
        .title = rh_knob_title_tensor_overlap, .part = 44, .wide = rh_knob_next_in_range,
        .keeps = RH_COMMON_SPLIT | RH_COMMON_SHAPE | RH_COMMON_NET | RH_COMMON_SCRIPTS,
        .example = "tpoverlap=on",
        .about = "with sp=on, tensor collectives in steps beside the GEMMs that need them")
RH_KNOB(RhOrder, order, .key = "order", .names = order_names, .low = 1, .high = RH_ORDER_LAST - 1,
        .otherwise = RH_ORDER_TP_DP_PP, .column = RH_COLUMN_VARIES, .cell = rh_knob_cell_order,
        .variant = true, .walk = 100, .next = rh_knob_next_in_range, .part = 100,
        .keeps = RH_COMMON_ITEMS | RH_COMMON_SPLIT | RH_COMMON_SHAPE, .example = "order=tp-dp-pp",
        .about = "which dimension is innermost in the rank numbers; tp-pp-dp keeps a pipeline "
                 "together instead")
RH_KNOB(
    RhPartition, partition, .key = "partition", .names = partition_names,
    .high = RH_PARTITION_LAST - 1, .quiet = true, .column = RH_COLUMN_VARIES,
    .title = rh_knob_title_partition, .variant = true, .walk = 65, .next = rh_knob_next_partition,
    .given = RH_KNOB_BIT(pp) | RH_KNOB_BIT(vpp) | RH_KNOB_BIT(cp) | RH_KNOB_BIT(cp_stages) |
             RH_KNOB_BIT(local_dp),
    .part = 65, .keeps = RH_COMMON_ITEMS | RH_COMMON_SHAPE | RH_COMMON_NET,
    .example = "partition=work",
    .about = "layers to stages: even; uniform (embedding, norm and head as layers); parameters (as "
             "DeepSpeed) or work (FLOPs, the head among them), the heaviest as light as can be")
RH_KNOB(int32_t, stage_layers_count, .key = "stages", .json = "stage_layers", .list = true,
        .entries = G_STRUCT_OFFSET(RhLayout, stage_layers), .names = stages_names,
        .title = rh_knob_title_stages, .keeps = RH_COMMON_ITEMS | RH_COMMON_SHAPE | RH_COMMON_NET,
        .example = "stages=15-16x6-15",
        .about = "layers of each of the pp x vpp chunks, first to last, 16x6 being 16 six times; "
                 "left out: as even as can be")
