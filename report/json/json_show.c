#include "report/json/json_show.h"

#include "platforms/platform_constants.h"
#include "report/json/json_common.h"
#include "strategies/framework_rules.h"
#include "workloads/precision_recipe.h"

static void put_fact(RhJsonWriter *w, const char *key, const RhFact *fact)
{
    if (fact->tag == RH_TAG_NONE && fact->value == 0) {
        rh_json_put_null(w, key);
        return;
    }
    rh_json_begin_object(w, key);
    rh_json_put_number(w, "value", fact->value);
    rh_json_put_string(w, "tag", rh_tag_name(fact->tag));
    rh_json_put_string(w, "source", fact->source);
    rh_json_end_object(w);
}

static void put_islands(RhJsonWriter *w, const RhPlatform *p)
{
    if (p->island_gpus == 0) {
        rh_json_put_null(w, "islands");
        return;
    }
    rh_json_begin_object(w, "islands");
    rh_json_put_int(w, "gpus_count", p->island_gpus);
    put_fact(w, "bytes_per_s", &p->island_bytes_per_s);
    rh_json_end_object(w);
}

/* Writes the NVLinks between two GPUs, where no switch joins them. */
static void put_mesh(RhJsonWriter *w, const RhPlatform *p)
{
    if (p->mesh.gpus == 0)
        return;
    rh_json_begin_object(w, "mesh");
    put_fact(w, "links_count", &p->mesh.links);
    rh_json_begin_array(w, "joined");
    for (int32_t a = 0; a < p->gpus_per_node; a++) {
        rh_json_begin_array(w, NULL);
        for (int32_t b = 0; b < p->gpus_per_node; b++)
            rh_json_put_int(w, NULL, p->mesh.joined[a][b]);
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}

/* Writes a torus or a dragonfly, where it is one. */
static void put_outside(RhJsonWriter *w, const RhPlatform *p)
{
    bool torus = p->torus_count > 0;
    if (!p->outside)
        return;
    rh_json_begin_object(w, p->tiers[0].name);
    rh_json_begin_array(w, "nodes");
    for (int32_t d = 0; d < (torus ? p->torus_count : 1); d++)
        rh_json_put_int(w, NULL, torus ? p->torus[d] : p->dragonfly_nodes);
    rh_json_end_array(w);
    put_fact(w, "bytes_per_s", torus ? &p->torus_bytes_per_s : &p->dragonfly_bytes_per_s);
    rh_json_end_object(w);
}

static void put_platform(RhJsonWriter *w, const RhShown *shown, const void *item)
{
    const RhPlatform *p = item;
    (void)shown;
    rh_json_put_string(w, "name", p->name);
    rh_json_put_string(w, "description", p->description);
    rh_json_put_string(w, "device", p->device->name);
    rh_json_put_int(w, "nodes_count", p->nodes_count);
    rh_json_put_int(w, "gpus_per_node", p->gpus_per_node);
    rh_json_put_int(w, "nics_per_node", p->nics_per_node);
    put_fact(w, "nvlink_bytes_per_s", &p->nvlink_bytes_per_s);
    put_fact(w, "nvlink_latency_s", &p->nvlink_latency_s);
    put_fact(w, "nic_bytes_per_s", &p->nic_bytes_per_s);
    put_fact(w, "nic_latency_s", &p->nic_latency_s);
    put_fact(w, "host_bytes_per_s", &p->host_bytes_per_s);
    put_fact(w, "host_bytes", &p->host_bytes);
    put_fact(w, "host_memory_bytes_per_s", &p->host_memory_bytes_per_s);
    put_fact(w, "nvme_bytes_per_s", &p->nvme_bytes_per_s);
    put_fact(w, "nvme_bytes", &p->nvme_bytes);
    put_fact(w, "storage_bytes_per_s", &p->storage.bytes_per_s);
    put_islands(w, p);
    put_mesh(w, p);
    put_fact(w, "price_usd_per_gpu_hour", &p->price_usd_per_gpu_hour);
    put_outside(w, p);
    rh_json_begin_array(w, "tiers");
    for (int t = 0; t < p->tiers_count; t++) {
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", p->tiers[t].name);
        /* the root joins all nodes and has no uplink */
        if (t + 1 < p->tiers_count) {
            rh_json_put_int(w, "nodes_per_group", p->tiers[t].nodes_per_group);
            put_fact(w, "oversubscription", &p->tiers[t].oversubscription);
        } else {
            rh_json_put_null(w, "nodes_per_group");
            rh_json_put_null(w, "oversubscription");
        }
        rh_json_put_bool(w, "rail_optimised", p->tiers[t].rail_optimised);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* Writes a device; keys are those of device files, with dots. */
static void put_device(RhJsonWriter *w, const RhShown *shown, const void *item)
{
    const RhDevice *d = item;
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    (void)shown;
    rh_json_put_string(w, "name", d->name);
    rh_json_put_string(w, "generation", d->generation);
    rh_json_put_int(w, "sms_count", d->sms_count);
    rh_json_begin_object(w, "facts");
    for (size_t i = 0; i < count; i++)
        if (rows[i].device)
            put_fact(w, rows[i].place,
                     (const RhFact *)(const void *)((const char *)d + rows[i].offset));
    rh_json_end_object(w);
}

static void put_pictures(RhJsonWriter *w, const RhModel *m)
{
    rh_json_put_string(w, "name", m->name);
    rh_json_put_string(w, "family", m->family);
    rh_json_put_int(w, "parameters_count", rh_model_params(m));
    rh_json_put_int(w, "layers_count", m->layers_count);
    rh_json_put_int(w, "picture_height", m->picture.height);
    rh_json_put_int(w, "picture_width", m->picture.width);
    rh_json_put_int(w, "picture_channels", m->picture.channels);
    rh_json_put_int(w, "classes_count", m->vocab);
    rh_json_put_number(w, "model_flops_per_sample", rh_model_flops_per_token(m, 1));
}

static void put_workload(RhJsonWriter *w, const RhShown *shown, const void *item)
{
    const RhModel *m = item;
    if (rh_model_sees_pictures(m)) {
        put_pictures(w, m);
        return;
    }
    const RhLayerKind *k = rh_model_attention_kind(m), *ffn = rh_model_ffn_kind(m);
    int64_t sequence = shown->sequence ? shown->sequence : MIN(m->positions, 8192);
    rh_json_put_string(w, "name", m->name);
    rh_json_put_string(w, "family", m->family);
    rh_json_put_int(w, "parameters_count", rh_model_params(m));
    rh_json_put_int(w, "layers_count", m->layers_count);
    rh_json_put_int(w, "hidden", m->hidden);
    rh_json_put_int(w, "heads_count", k->heads);
    rh_json_put_int(w, "kv_heads_count", k->kv_heads);
    rh_json_put_int(w, "head_size", k->head_size);
    rh_json_put_int(w, "ffn_width", ffn->ffn_width);
    rh_json_put_bool(w, "ffn_gated", ffn->ffn_gated);
    const RhLayerKind *experts = rh_model_experts_kind(m);
    if (experts) {
        rh_json_put_int(w, "experts_count", experts->experts);
        rh_json_put_int(w, "experts_per_token_count", experts->experts_per_token);
        rh_json_put_int(w, "expert_width", experts->ffn_width);
        rh_json_put_int(w, "shared_width", experts->shared_width);
    }
    rh_json_put_int(w, "vocabulary_count", m->vocab);
    rh_json_put_bool(w, "embeddings_tied", m->tied_embeddings);
    rh_json_put_int(w, "positions_tokens", m->positions);
    rh_json_put_int(w, "sequence_tokens", sequence);
    rh_json_put_number(w, "model_flops_per_token", rh_model_flops_per_token(m, sequence));
}

static void put_strategy(RhJsonWriter *w, const RhShown *shown, const void *item)
{
    const RhLayout *l = item;
    g_autofree char *title = rh_layout_title(l);
    g_autofree char *text = rh_layout_format(l);
    (void)shown;
    rh_json_put_string(w, "name", title);
    rh_json_put_string(w, "strategy", text);
    rh_json_put_bool(w, "dp_derived", l->dp == 0);
    rh_put_layout(w, "layout", l);
}

/* Writes a framework; null: there is none, or its rules are not known. */
static void put_framework(RhJsonWriter *w, const char *name)
{
    const RhFrameworkRules *rules = rh_framework_rules(name, NULL);
    if (!rules) {
        rh_json_put_null(w, "framework");
        return;
    }
    rh_json_begin_object(w, "framework");
    rh_json_put_string(w, "name", rules->name);
    rh_json_put_string(w, "title", rules->title);
    rh_json_put_string(w, "project", rules->project);
    rh_json_begin_array(w, "refuses");
    for (int32_t i = 0; i < rules->rules_count; i++) {
        const RhFrameworkRule *rule = &rules->rules[i];
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "when", rule->when);
        rh_json_put_string(w, "why", rule->why);
        rh_json_put_string(w, "help", rule->help);
        rh_json_put_string(w, "where", rule->where);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}

static void put_stack(RhJsonWriter *w, const RhShown *shown, const void *item)
{
    const RhStack *s = item;
    (void)shown;
    rh_json_put_string(w, "name", s->name);
    rh_json_put_string(w, "about", s->about);
    if (s->attention_frac.value > 0)
        put_fact(w, "attention_frac", &s->attention_frac);
    put_fact(w, "kernel_gap_s", &s->kernel_gap_s);
    put_fact(w, "nvlink_training_frac", &s->nvlink_training_frac);
    put_fact(w, "nic_training_frac", &s->nic_training_frac);
    put_fact(w, "straggler_frac", &s->straggler_frac);
    put_fact(w, "optimizer_bytes", &s->optimizer_bytes);
    put_fact(w, "norm_bytes", &s->passes.norm_bytes);
    put_fact(w, "eager_norm_bytes", &s->passes.eager_norm_bytes);
    put_fact(w, "backward_excess", &s->passes.backward_excess);
    put_fact(w, "softmax_backward_bytes", &s->passes.softmax_backward_bytes);
    put_fact(w, "eager_softmax_bytes", &s->passes.eager_softmax_bytes);
    put_fact(w, "eager_softmax_backward_bytes", &s->passes.eager_softmax_backward_bytes);
    put_fact(w, "bucket_params_count", &s->bucket_params);
    if (s->bucket_params_per_replica.value > 0)
        put_fact(w, "bucket_params_per_replica_count", &s->bucket_params_per_replica);
    if (s->bucket_bytes.value > 0)
        put_fact(w, "bucket_bytes", &s->bucket_bytes);
    if (s->first_bucket_bytes.value > 0)
        put_fact(w, "first_bucket_bytes", &s->first_bucket_bytes);
    if (s->bucket_cycle_s.value > 0)
        put_fact(w, "bucket_cycle_s", &s->bucket_cycle_s);
    if (s->buckets.value > 0)
        put_fact(w, "buckets_count", &s->buckets);
    put_fact(w, "reserve_bytes", &s->reserve_bytes);
    put_framework(w, s->framework);
}

static void put_recipe(RhJsonWriter *w, const RhShown *shown, const void *item)
{
    const RhRecipe *r = item;
    (void)shown;
    rh_json_put_string(w, "name", r->name);
    rh_json_put_string(w, "title", r->title);
    rh_json_put_string(w, "dtype", rh_dtype_name(r->dtype));
    rh_json_put_string(w, "linear_dtype", rh_dtype_name(r->linear));
    rh_json_put_number(w, "operand_bytes", r->operand_bytes);
    rh_json_put_number(w, "kept_bytes", r->kept_bytes);
    rh_json_put_number(w, "cast_bytes", r->cast_bytes);
    rh_json_put_number(w, "weight_cast_bytes", r->weight_cast_bytes);
    rh_json_put_number(w, "weight_copy_bytes", r->weight_copy_bytes);
    rh_json_put_number(w, "weight_alone_bytes", r->weight_alone_bytes);
    rh_json_put_number(w, "depth_frac", r->depth_frac > 0 ? r->depth_frac : 1);
    rh_json_put_number(w, "dispatch_bytes", r->dispatch_bytes);
    rh_json_put_string(w, "source", r->source);
}

char *rh_report_show_json(const RhShown *shown)
{
    static const struct {
        const char *name;
        void (*put)(RhJsonWriter *w, const RhShown *shown, const void *item);
    } topics[] = {[RH_SHOW_PLATFORMS] = {"platforms", put_platform},
                  [RH_SHOW_DEVICES] = {"devices", put_device},
                  [RH_SHOW_WORKLOADS] = {"workloads", put_workload},
                  [RH_SHOW_STRATEGIES] = {"strategies", put_strategy},
                  [RH_SHOW_STACKS] = {"stacks", put_stack},
                  [RH_SHOW_RECIPES] = {"recipes", put_recipe}};
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.show/1");
    rh_json_put_string(w, "version", shown->version);
    rh_put_words(w, "argv", shown->argv);
    rh_json_put_string(w, "topic", topics[shown->topic].name);
    rh_json_begin_array(w, "items");
    for (guint i = 0; i < shown->items->len; i++) {
        rh_json_begin_object(w, NULL);
        topics[shown->topic].put(w, shown, g_ptr_array_index(shown->items, i));
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
