/* Derives the shape of a model: from a configuration to layers. */
#include "workloads/model.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "workloads/model_private.h"
#include "workloads/operators/operator.h"

/* --- From a configuration to layers and back --- */

/* Maps `at` into [0, every): negative values count from the end, larger ones become the last
 * place. */
static int64_t wrapped_place(int64_t at, int64_t every)
{
    return at < 0 ? every + at : MIN(at, every - 1);
}

static const RhLayerType *word_by_rule(const RhFamily *family, const RhConfig *c, int32_t layer)
{
    bool between = c->window.full_interval > 0 &&
                   layer % c->window.full_interval !=
                       wrapped_place(c->window.full_position - 1, c->window.full_interval);
    bool slides =
        c->window.full_interval == 0 && c->window.size > 0 && layer >= c->window.first_layer;
    const RhLayerType *word = between  ? rh_family_word(family, family->between)
                              : slides ? rh_family_word(family, "sliding_attention")
                                       : NULL;
    return word != NULL ? word : rh_family_word(family, "full_attention");
}

/* Configuration of one layer: the model's figures, overridden by the word's and then by the layer's
 * own. */
static RhConfig config_of_layer(const RhConfig *c, const RhLayerType *word, const RhLayerPlan *plan)
{
    RhConfig own = *c;
    char *bytes = (char *)&own;
    for (size_t i = 0; word != NULL && i < G_N_ELEMENTS(word->figures); i++) {
        int64_t value;
        memcpy(&value, bytes + word->figures[i].from, sizeof value);
        if (word->figures[i].from > 0 && value > 0)
            memcpy(bytes + word->figures[i].to, &value, sizeof value);
    }
    for (int32_t i = 0; plan != NULL && i < plan->figures_count; i++)
        memcpy(bytes + plan->figures[i].offset, &plan->figures[i].value, sizeof(int64_t));
    return own;
}

static bool is_turn_of_experts(const RhConfig *c, int32_t layer)
{
    int64_t step = MAX(c->moe.layer_interval, 1);
    return c->moe.num_experts > 0 && layer >= c->moe.first_k_dense_replace &&
           (c->moe.last_layer <= 0 || layer <= c->moe.last_layer) &&
           layer % step == wrapped_place(c->moe.layer_offset, step);
}

static const RhOperator *ffn_of(const RhFamily *family, const RhConfig *c, int32_t layer,
                                RhFfnChoice choice)
{
    if (choice == RH_FFN_ABSENT)
        return NULL;
    if (choice == RH_FFN_BY_RULE)
        choice = is_turn_of_experts(c, layer) ? RH_FFN_EXPERTS : RH_FFN_DENSE;
    return choice == RH_FFN_EXPERTS && c->moe.num_experts > 0 ? &rh_mixture : family->ffn;
}

/* Fills `kind` from a configuration. Every byte is written, as kinds are compared as bytes. */
static void shape_kind(const RhFamily *family, const RhConfig *c, int32_t layer,
                       const RhLayerPlan *plan, RhLayerKind *kind)
{
    const RhLayerType *word =
        plan != NULL && plan->word != NULL ? plan->word : word_by_rule(family, c, layer);
    static const RhLayerType plain;
    const RhLayerType *said = word != NULL ? word : &plain;
    RhConfig own = config_of_layer(c, said, plan);
    RhFfnChoice choice = plan != NULL && plan->ffn != RH_FFN_BY_RULE ? plan->ffn : said->ffn;
    bool mixes = !said->no_mixer && (plan == NULL || !plan->no_mixer);
    memset(kind, 0, sizeof *kind);
    kind->mixer = !mixes                                ? NULL
                  : plan != NULL && plan->mixer != NULL ? plan->mixer
                  : said->mixer != NULL                 ? said->mixer
                                                        : family->mixer;
    if (own.attention.bidirectional && kind->mixer == &rh_attention)
        kind->mixer = &rh_attention_bidirectional;
    kind->ffn = ffn_of(family, &own, layer, choice);
    if (own.parallel_residual && kind->mixer != NULL && kind->ffn == &rh_ffn) {
        kind->mixer = &rh_parallel;
        kind->ffn = NULL;
    }
    kind->window_tokens = said->slides ? (int32_t)own.window.size : 0;
    kind->extra_norms = (int32_t)own.extra_norms;
    kind->input = kind->output = own.hidden_size;
    const RhOperator *const pair[] = {kind->mixer, kind->ffn};
    for (size_t i = 0; i < G_N_ELEMENTS(pair); i++)
        if (pair[i] != NULL && pair[i]->shape != NULL)
            pair[i]->shape(&own, kind);
}

/* Number of a kind, which is added if it is new; -1 when there are too many. Kinds are numbered as
 * they first appear. */
static int find_kind(RhModel *m, const RhLayerKind *kind)
{
    for (int i = 0; i < m->kinds_count; i++)
        if (memcmp(&m->kinds[i], kind, sizeof *kind) == 0)
            return i;
    if (m->kinds_count == RH_LAYER_KINDS_MAX)
        return -1;
    m->kinds[m->kinds_count] = *kind;
    return m->kinds_count++;
}

/* Returns an equal list that the model already has, or adds this one; takes ownership. */
static const RhStepList *keep_steps(RhModel *m, RhStepList *shaped)
{
    for (guint i = 0; i < m->shaped_steps->len; i++)
        if (rh_step_list_equal(g_ptr_array_index(m->shaped_steps, i), shaped)) {
            rh_step_list_free(shaped);
            return g_ptr_array_index(m->shaped_steps, i);
        }
    g_ptr_array_add(m->shaped_steps, shaped);
    return shaped;
}

static int64_t elements_of(const RhLayerOutput *tensors)
{
    double sum = 0;
    for (int32_t i = 0; i < tensors->count; i++)
        sum += rh_tensor_elements(&tensors->tensors[i].size);
    return (int64_t)sum;
}

/* Shapes a layer given as steps. `hands` is the output of the layer before, and becomes the output
 * of this one. */
static bool shape_steps(RhModel *m, const RhStepList *list, RhLayerKind *kind, RhLayerOutput *hands,
                        char **problem)
{
    RhLayerOutput after;
    RhStepList *shaped = rh_step_list_shape(list, hands, &after, problem);
    if (shaped == NULL)
        return false;
    memset(kind, 0, sizeof *kind);
    kind->mixer = &rh_steps;
    kind->steps = keep_steps(m, shaped);
    kind->input = elements_of(hands);
    kind->output = m->hidden = elements_of(&after);
    *hands = after;
    return true;
}

static void begin_layers(RhModel *m, const RhConfig *c)
{
    g_free(m->kind_of_layer);
    m->layers_count =
        (int32_t)(c->encoder.present ? c->encoder.num_hidden_layers + 2 * c->num_hidden_layers
                                     : c->num_hidden_layers + c->num_nextn_predict_layers);
    m->kind_of_layer = g_new0(uint8_t, m->layers_count);
    m->kinds_count = 0;
    g_clear_pointer(&m->shaped_steps, g_ptr_array_unref);
    m->shaped_steps = g_ptr_array_new_with_free_func((GDestroyNotify)rh_step_list_free);
}

static const RhLayerPlan *plan_of(const RhModel *m, int32_t layer)
{
    return m->plans != NULL ? &m->plans[layer % m->plans_count] : NULL;
}

/* Completes the kind of a layer that predicts a further token, where each layer of the model has a
 * mixer or an ffn alone (Nemotron-3): the missing half is that of the last attention, or of the
 * last ffn. */
static void complete_kind(const RhModel *m, const RhFamily *family, const RhConfig *c,
                          RhLayerKind *kind)
{
    bool mixes = kind->mixer != NULL;
    for (int32_t i = (int32_t)c->num_hidden_layers - 1; i >= 0; i--) {
        const RhLayerPlan *plan = plan_of(m, i);
        const RhLayerType *word =
            plan != NULL && plan->word != NULL ? plan->word : word_by_rule(family, c, i);
        RhConfig own = config_of_layer(c, word, plan);
        RhLayerKind other;
        shape_kind(family, c, i, plan, &other);
        const RhOperator *found = mixes ? other.ffn : other.mixer;
        if (found == NULL || (!mixes && found != &rh_attention))
            continue;
        *(mixes ? &kind->ffn : &kind->mixer) = found;
        if (found->shape != NULL)
            found->shape(&own, kind);
        return;
    }
}

/* Marks layers that lend and borrow keys: a borrower uses the keys of the last layer that makes its
 * own and has the same window. */
static bool share_keys(const RhFamily *family, const RhModel *m, const RhConfig *c, int32_t layer,
                       RhLayerKind *kind, RhLayersProblem *problem)
{
    int32_t first = (int32_t)(c->num_hidden_layers - c->sharing.num_kv_shared_layers);
    bool borrows = layer >= first, found = false;
    int32_t from = borrows ? 0 : layer + 1;
    for (int32_t i = first - 1; i >= from && !found; i--) {
        RhLayerKind other;
        shape_kind(family, c, i, plan_of(m, i), &other);
        found = other.window_tokens == kind->window_tokens;
    }
    kind->borrows_keys = borrows;
    kind->lends_keys = !borrows && !found;
    if (borrows && c->sharing.double_wide_mlp)
        kind->ffn_width *= 2;
    if (borrows && !found)
        problem->text =
            g_strdup_printf("its keys are those of a layer before the last %" G_GINT64_FORMAT
                            " that looks as far, and there is none",
                            c->sharing.num_kv_shared_layers);
    return found || !borrows;
}

/* Marks lending and borrowing in groups of `cla_share_factor` layers, of which the first makes the
 * keys for all. */
static void share_in_turns(const RhConfig *c, int32_t layer, RhLayerKind *kind)
{
    kind->borrows_keys = layer % c->sharing.cla_share_factor != 0;
    kind->lends_keys = !kind->borrows_keys && layer + 1 < c->num_hidden_layers;
}

/* Does a layer use the parameters of an earlier one: the first of its group, or the one in its
 * place in the first of several turns? */
static bool borrows_all(const RhConfig *c, int32_t layer)
{
    return c->sharing.total_ut_steps > 0 ? layer >= c->sharing.num_hidden_groups
           : c->sharing.num_hidden_groups > 0
               ? layer % MAX(c->num_hidden_layers / c->sharing.num_hidden_groups, 1) != 0
               : false;
}

/* Adds a layer of this kind; false when there are too many kinds. */
static bool add_layer(RhModel *m, int32_t layer, const RhLayerKind *kind)
{
    int found = find_kind(m, kind);
    m->kind_of_layer[layer] = (uint8_t)MAX(found, 0);
    return found >= 0;
}

/* Configuration of the encoder's layers. */
static RhConfig config_of_encoder(const RhConfig *c)
{
    RhConfig encoder = *c;
    encoder.attention.num_attention_heads = encoder.attention.num_key_value_heads =
        c->encoder.num_attention_heads;
    if (c->encoder.num_key_value_heads > 0)
        encoder.attention.num_key_value_heads = c->encoder.num_key_value_heads;
    encoder.intermediate_size = c->encoder.intermediate_size;
    if (c->encoder.hidden_size > 0)
        encoder.hidden_size = c->encoder.hidden_size;
    if (c->encoder.head_dim > 0)
        encoder.attention.head_dim = c->encoder.head_dim;
    encoder.attention.bidirectional = 1;
    encoder.window.size = c->encoder.window > 0 ? c->encoder.window : c->window.size;
    encoder.attention.global_keys = c->encoder.global_keys;
    encoder.moe.layer_interval = c->moe.encoder_interval;
    return encoder;
}

/* Adds the encoder's layers and, for each of the decoder's, two of ours: self-attention, and
 * cross-attention with the network after it. With alternating experts there are ten kinds at
 * most. */
static void shape_two_stacks(RhModel *m, const RhConfig *c)
{
    const RhFamily *family = rh_family_by_name(m->family);
    RhFfnChoice in_encoder = c->moe.encoder_interval > 0 ? RH_FFN_BY_RULE : RH_FFN_DENSE;
    RhFfnChoice in_decoder = c->moe.decoder_interval > 0 ? RH_FFN_BY_RULE : RH_FFN_DENSE;
    const RhLayerPlan both_ways = {.mixer = &rh_attention_bidirectional, .ffn = in_encoder},
                      own = {.ffn = RH_FFN_ABSENT},
                      other = {.mixer = &rh_cross_attention, .ffn = in_decoder};
    RhConfig encoder = config_of_encoder(c), decoder = *c;
    decoder.moe.layer_interval = c->moe.decoder_interval;
    int32_t first = (int32_t)c->encoder.num_hidden_layers;
    for (int32_t i = 0; i < m->layers_count; i++) {
        bool encodes = i < first;
        RhLayerKind kind;
        bool crosses = !encodes && (i - first) % 2 == 1;
        shape_kind(family, encodes ? &encoder : &decoder, encodes ? i : (i - first) / 2,
                   encodes   ? &both_ways
                   : crosses ? &other
                             : &own,
                   &kind);
        if (crosses) /* keys are all of the encoder's tokens */
            kind.window_tokens = 0;
        kind.encodes = encodes;
        if (i + 1 == first)
            rh_encoder_end_wrap(&kind, c->encoder.final_norm != 0);
        bool added = add_layer(m, i, &kind);
        g_assert(added);
    }
}

static bool shape_layers(RhModel *m, const RhConfig *c, RhLayersProblem *problem)
{
    if (c->encoder.present) {
        begin_layers(m, c);
        shape_two_stacks(m, c);
        return true;
    }
    const RhFamily *family = rh_family_by_name(m->family);
    RhLayerOutput hands = {.count = 1, .tensors = {{.size = m->picture}}};
    int64_t places = 0; /* number of places so far that use a shared block */
    begin_layers(m, c);
    for (int32_t i = 0; i < m->layers_count; i++) {
        RhLayerKind kind;
        int32_t like = MIN(i, (int32_t)c->num_hidden_layers - 1);
        const RhLayerPlan *plan = plan_of(m, like);
        problem->layer = i;
        if (plan == NULL || plan->steps == NULL)
            shape_kind(family, c, like, plan, &kind);
        else if (!shape_steps(m, plan->steps, &kind, &hands, &problem->text))
            return false;
        if (i >= c->num_hidden_layers && (kind.mixer == NULL) != (kind.ffn == NULL))
            complete_kind(m, family, c, &kind);
        if (c->sharing.num_kv_shared_layers > 0 && i < c->num_hidden_layers &&
            !share_keys(family, m, c, i, &kind, problem))
            return false;
        if (c->sharing.cla_share_factor > 1 && i < c->num_hidden_layers)
            share_in_turns(c, i, &kind);
        if (c->per_layer.hidden_size > 0 && kind.ffn != &rh_ffn) {
            problem->text = g_strdup("experts in layers with an embedding of their own "
                                     "(hidden_size_per_layer_input) are not supported");
            return false;
        }
        if (c->per_layer.hidden_size > 0)
            rh_layer_end_wrap(&kind, (int32_t)c->per_layer.hidden_size,
                              (int32_t)c->per_layer.laurel_rank);
        if (i >= c->num_hidden_layers)
            rh_predict_wrap(&kind);
        kind.borrows = borrows_all(c, i);
        kind.borrows_block =
            kind.mixer == &rh_shared_attention && places++ >= c->sharing.num_mem_blocks;
        if (add_layer(m, i, &kind))
            continue;
        *problem = (RhLayersProblem){
            -1, g_strdup_printf("layers of more than %d kinds", RH_LAYER_KINDS_MAX)};
        return false;
    }
    if (hands.count == 1)
        return true;
    problem->text =
        g_strdup_printf("the last layer hands on %d tensors, the head takes one", hands.count);
    return false;
}

bool rh_model_set_layers(RhModel *m, const RhConfig *c, RhLayerPlan *plans, int32_t count,
                         RhLayersProblem *problem)
{
    if (plans != m->plans)
        g_free(m->plans);
    m->plans = plans;
    m->plans_count = count;
    return shape_layers(m, c, problem);
}

static void set_ends(RhModel *m)
{
    bool classes = m->patch_entries > 0 || rh_model_sees_pictures(m);
    m->embed = m->patch_entries > 0        ? &rh_patches
               : m->per_layer_inputs > 0   ? &rh_embedding_of_layers
               : m->shares_embedding       ? &rh_look_up_alike
               : m->num_mel_bins > 0       ? &rh_sounds
               : rh_model_sees_pictures(m) ? &rh_pictures
                                           : &rh_embedding;
    m->lm_head = m->judges_places ? &rh_place_loss : classes ? &rh_classes : &rh_head;
}

/* Sets the encoder's sizes: its widths are the model's unless given; its tokens come from the same
 * table, from a spectrum of sound, or from pictures. */
static void set_encoder(RhModel *m, const RhConfig *c)
{
    rh_model_free(m->encoder);
    m->encoder = NULL;
    m->encoder_tokens = c->encoder.tokens;
    m->relative_bias_entries = c->attention.num_relative_buckets *
                               c->attention.num_attention_heads *
                               (c->attention.relative_bias_per_layer ? c->num_hidden_layers : 1);
    if (!c->encoder.present)
        return;
    RhModel *e = m->encoder = g_new0(RhModel, 1);
    e->name = m->name;
    e->family = m->family;
    e->norm = m->norm;
    e->position = m->position;
    e->hidden = c->encoder.hidden_size > 0 ? c->encoder.hidden_size : m->hidden;
    e->vocab = m->vocab;
    e->positions = c->encoder.max_position_embeddings;
    e->embedding_norm = m->embedding_norm;
    e->hidden_dropout = m->hidden_dropout;
    e->attention_dropout = m->attention_dropout;
    e->shares_embedding = c->encoder.num_mel_bins == 0 && !c->encoder.own_embedding;
    e->num_mel_bins = (int32_t)c->encoder.num_mel_bins;
    e->relative_bias_entries =
        c->attention.num_relative_buckets * c->encoder.num_attention_heads *
        (c->attention.relative_bias_per_layer ? c->encoder.num_hidden_layers : 1);
    set_ends(e);
}

void rh_model_set_sizes(RhModel *m, const RhConfig *c)
{
    *m->config = *c;
    m->config->window.used = 1; /* resolved now: a window that is not used is 0 */
    m->hidden = c->hidden_size;
    m->vocab = c->vocab_size;
    m->positions = c->max_position_embeddings;
    m->rotary_base = c->rope_theta;
    m->tied_embeddings = c->tie_word_embeddings != 0;
    m->embedding_norm = c->embedding_norm != 0;
    m->embedding = c->embedding_size != c->hidden_size ? c->embedding_size : 0;
    m->head_width = c->tie_word_embeddings ? 0 : c->lm_head_size;
    m->token_types = (int32_t)c->type_vocab_size;
    m->per_layer_input = (int32_t)c->per_layer.hidden_size;
    m->per_layer_inputs = c->per_layer.hidden_size * c->num_hidden_layers;
    m->per_layer_vocab = c->per_layer.hidden_size > 0 ? c->per_layer.vocab_size : 0;
    m->altup_num_inputs = (int32_t)c->per_layer.altup_num_inputs;
    m->hc_mult = (int32_t)c->hc_mult;
    m->judges_places = c->vision.judges_places != 0;
    m->patch_entries = c->vision.patch_size * c->vision.patch_size * c->vision.num_channels;
    if (c->vision.height > 0)
        m->picture = (RhTensor){(int32_t)c->vision.height, (int32_t)c->vision.width,
                                (int32_t)c->vision.num_channels};
    m->hidden_dropout = c->hidden_dropout != 0;
    m->attention_dropout = c->attention.dropout != 0;
    set_ends(m);
    set_encoder(m, c);
}

RhModel *rh_model_new(const char *name, const RhFamily *family, const RhConfig *c)
{
    RhModel *m = g_new0(RhModel, 1);
    m->name = rh_intern(name);
    m->numerics.rotary_frac = 1;
    m->family = rh_intern(family->name);
    m->norm = family->norm;
    m->position = family->position;
    m->config = g_new(RhConfig, 1);
    rh_model_set_sizes(m, c);
    RhLayersProblem none = {0};
    rh_model_set_layers(m, c, NULL, 0, &none);
    g_free(none.text);
    return m;
}

RhModel *rh_model_gpt(const char *name, int32_t layers, int64_t hidden, int32_t heads, int64_t ffn,
                      int64_t vocab, int64_t positions)
{
    g_return_val_if_fail(layers > 0 && hidden > 0 && heads > 0 && hidden % heads == 0, NULL);
    RhConfig c = {.num_hidden_layers = layers,
                  .hidden_size = hidden,
                  .attention.num_attention_heads = heads,
                  .attention.num_key_value_heads = heads,
                  .attention.head_dim = hidden / heads,
                  .intermediate_size = ffn > 0 ? ffn : 4 * hidden,
                  .vocab_size = vocab,
                  .max_position_embeddings = positions,
                  .tie_word_embeddings = 1,
                  .attention.qkv_bias = 1,
                  .attention.o_bias = 1,
                  .mlp.bias = 1,
                  .hidden_dropout = 1,
                  .attention.dropout = 1};
    RhModel *m = rh_model_new(name, rh_family_by_name("gpt2"), &c);
    m->hash = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)&c, sizeof c);
    return m;
}

const RhLayerKind *rh_model_attention_kind(const RhModel *m)
{
    g_return_val_if_fail(m != NULL, NULL);
    for (int i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].head_size > 0 && m->kinds[i].state_size == 0 &&
            m->kinds[i].conv_kernel == 0 && !m->kinds[i].encodes)
            return &m->kinds[i];
    return &m->kinds[0];
}

const RhLayerKind *rh_model_ffn_kind(const RhModel *m)
{
    g_return_val_if_fail(m != NULL, NULL);
    for (int i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].ffn_width > 0 && m->kinds[i].experts == 0 && !m->kinds[i].encodes)
            return &m->kinds[i];
    return &m->kinds[0];
}

const RhLayerKind *rh_model_experts_kind(const RhModel *m)
{
    g_return_val_if_fail(m != NULL, NULL);
    for (int i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].experts > 0)
            return &m->kinds[i];
    return NULL;
}

const RhLayerKind *rh_model_kind_with(const RhModel *m, const RhOperator *ffn)
{
    for (int i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].ffn == ffn)
            return &m->kinds[i];
    return NULL;
}

int64_t rh_model_encoder_tokens(const RhModel *m, int64_t sequence)
{
    g_return_val_if_fail(m != NULL, 0);
    return m->encoder_tokens > 0 ? m->encoder_tokens : m->encoder != NULL ? sequence : 0;
}

bool rh_model_shares_layers(const RhModel *m)
{
    bool some = false;
    for (int i = 0; i < m->kinds_count; i++)
        some |= m->kinds[i].borrows || m->kinds[i].borrows_block;
    return some;
}

bool rh_model_reads_beside(const RhModel *m)
{
    bool some = m->per_layer_inputs > 0;
    for (int i = 0; i < m->kinds_count; i++)
        some |= m->kinds[i].borrows_keys;
    return some;
}

bool rh_model_crosses(const RhModel *m)
{
    bool some = false;
    for (int i = 0; i < m->kinds_count; i++)
        some |= m->kinds[i].cross_width > 0;
    return some;
}

bool rh_model_makes_tokens(const RhModel *m)
{
    g_return_val_if_fail(m != NULL, false);
    return !rh_model_attention_kind(m)->bidirectional && m->patch_entries == 0 &&
           !rh_model_sees_pictures(m);
}

bool rh_model_score(RhModel *m, GError **error)
{
    if (m->lm_head != &rh_head || !rh_model_makes_tokens(m))
        return rh_fail(error, RH_ERROR_USAGE,
                       "preference=reward: %s makes no tokens, whose head a score could replace",
                       m->name);
    m->lm_head = &rh_score_head;
    m->tied_embeddings = false;
    m->head_width = 0;
    return true;
}

void rh_model_free(RhModel *model)
{
    if (model == NULL)
        return;
    rh_model_free(model->encoder);
    g_free(model->kind_of_layer);
    g_free(model->plans);
    g_clear_pointer(&model->read_steps, g_ptr_array_unref);
    g_clear_pointer(&model->shaped_steps, g_ptr_array_unref);
    g_free(model->config);
    g_free(model->hash);
    g_free(model);
}
