/* Writes a model for Megatron-LM: layers, attention, positions, experts, numerics. */
#include "strategies/launch/megatron.h"

#include <math.h>
#include <string.h>

#include "workloads/operators/operator.h"

#define JOB_GROUPED                                                                                \
    (RH_JOB_FIELD_OWN + 11) /* between those of megatron_layout.c and megatron_precision_flags.c */

/* Are two kinds alike except for the network after attention, which is dense in some layers and has
 * experts in others? */
static bool same_attention(const RhLayerKind *a, const RhLayerKind *b)
{
    return a->mixer == b->mixer && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->head_size == b->head_size && a->q_lora_rank == b->q_lora_rank &&
           a->kv_lora_rank == b->kv_lora_rank && a->qk_rope_head_dim == b->qk_rope_head_dim &&
           a->v_head_dim == b->v_head_dim && a->window_tokens == b->window_tokens &&
           a->qk_norm == b->qk_norm && a->qkv_bias == b->qkv_bias && a->o_bias == b->o_bias &&
           a->ffn_bias == b->ffn_bias && a->ffn_gated == b->ffn_gated;
}

bool rh_megatron_check_model(const RhFramework *framework, const RhProblem *c, GError **error)
{
    const RhModel *m = c->model;
    const RhLayerKind *k = &m->kinds[0];
    const RhLayerKind *dense = rh_model_kind_with(m, &rh_ffn),
                      *mixed = rh_model_kind_with(m, &rh_mixture);
    if (m->kinds_count > 2 || !same_attention(k, &m->kinds[m->kinds_count - 1]))
        return rh_launch_fail_model(framework, c, "layers of several kinds", error);
    if ((dense != NULL) + (mixed != NULL) != m->kinds_count)
        return rh_launch_fail_model(framework, c, "its feed-forward layers", error);
    if (k->o_bias != k->ffn_bias || (k->o_bias && !k->qkv_bias))
        return rh_launch_fail_model(
            framework, c, "biases in some linear layers and not in others (but for QKV alone)",
            error);
    return rh_launch_check_numerics(
        framework, c, 1 << RH_ACTIVATION_GELU | 1 << RH_ACTIVATION_RELU2, true, error);
}

/* --- heads --- */

static bool has_latent(const RhLaunchText *t)
{
    return t->sizes[RH_SIZE_LATENT] == 1;
}

char *rh_megatron_write_channels(const RhLaunchText *t)
{
    const int64_t *s = t->sizes;
    return has_latent(t) || s[RH_SIZE_HEADS] * s[RH_SIZE_HEAD] == s[RH_SIZE_HIDDEN]
               ? NULL
               : g_strdup_printf("%" G_GINT64_FORMAT, s[RH_SIZE_HEAD]);
}

void rh_megatron_read_channels(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->sizes[RH_SIZE_HEAD]);
}

static bool has_groups(const RhLaunchText *t)
{
    return !has_latent(t) && t->sizes[RH_SIZE_GROUPS] != t->sizes[RH_SIZE_HEADS];
}

char *rh_megatron_write_grouped_queries(const RhLaunchText *t)
{
    return has_groups(t) ? g_strdup("") : NULL;
}

/* Reads the switch without which the number of groups has no effect. */
void rh_megatron_read_grouped_queries(RhLaunchReading *r, const char *text)
{
    r->job[JOB_GROUPED] = rh_launch_read_switch(text);
}

char *rh_megatron_write_groups(const RhLaunchText *t)
{
    return has_groups(t) ? g_strdup_printf("%" G_GINT64_FORMAT, t->sizes[RH_SIZE_GROUPS]) : NULL;
}

void rh_megatron_read_groups(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->sizes[RH_SIZE_GROUPS]);
}

char *rh_megatron_write_window(const RhLaunchText *t)
{
    return t->sizes[RH_SIZE_WINDOW] > 0
               ? g_strdup_printf("%" G_GINT64_FORMAT ",0", t->sizes[RH_SIZE_WINDOW])
               : NULL;
}

void rh_megatron_read_window(RhLaunchReading *r, const char *text)
{
    g_autofree char *first =
        g_strndup(text + strspn(text, "( "), strcspn(text + strspn(text, "( "), ", "));
    (void)rh_launch_read_number(r, first, &r->sizes[RH_SIZE_WINDOW]);
}

/* --- layers with experts --- */

char *rh_megatron_write_frequency(const RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    if (!rh_model_kind_with(m, &rh_mixture) || m->kinds_count == 1)
        return NULL;
    GString *out = g_string_new("(");
    for (int32_t i = 0, count; i < m->layers_count; i += count) {
        for (count = 1;
             i + count < m->layers_count && m->kind_of_layer[i + count] == m->kind_of_layer[i];
             count++)
            ;
        g_string_append_printf(out, "%s[%d]*%d", i > 0 ? "+" : "",
                               m->kinds[m->kind_of_layer[i]].ffn == &rh_mixture, count);
    }
    g_string_append_c(out, ')');
    return g_string_free(out, FALSE);
}

/* Reads how many layers have no experts, "([0]*3+[1]*58)" or "[0,0,1,1]"; a number says that each
 * so many layers have some. */
void rh_megatron_read_frequency(RhLaunchReading *r, const char *text)
{
    const char *c = text + strspn(text, "( '\"");
    int64_t dense = 0;
    if (g_ascii_isdigit(*c)) {
        int64_t every = g_ascii_strtoll(c, NULL, 10);
        if (every > 1)
            rh_launch_tell(r,
                           "experts in each %" G_GINT64_FORMAT ". layer alone: say the model "
                           "with -w",
                           every);
        return;
    }
    while (g_str_has_prefix(c, "[0]")) {
        char *end = (char *)(uintptr_t)c + 3;
        dense += c[3] == '*' ? g_ascii_strtoll(c + 4, &end, 10) : 1;
        c = end + strspn(end, "+ ");
    }
    if (*c == '[' && c[1] == '0')
        for (c++; *c == '0'; c += 1 + strspn(c + 1, ", "))
            dense++;
    r->sizes[RH_SIZE_DENSE_LAYERS] = dense;
}

/* --- positions, norms, biases --- */

char *rh_megatron_write_positions(const RhLaunchText *t)
{
    return g_strdup_printf("%" G_GINT64_FORMAT, MAX(t->c->model->positions, t->c->job.sequence));
}

void rh_megatron_read_positions(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->sizes[RH_SIZE_POSITIONS]);
}

char *rh_megatron_write_position(const RhLaunchText *t)
{
    RhPosition position = t->c->model->position;
    return g_strdup(position == RH_POSITION_ROTARY    ? "rope"
                    : position == RH_POSITION_LEARNED ? "learned_absolute"
                                                      : "none");
}

void rh_megatron_read_position(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_ROTARY] = strcmp(text, "rope") == 0 || strcmp(text, "yarn") == 0;
}

void rh_megatron_read_rotary(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        r->sizes[RH_SIZE_ROTARY] = 1;
}

char *rh_megatron_write_rotary_base(const RhLaunchText *t)
{
    return t->c->model->position == RH_POSITION_ROTARY
               ? g_strdup_printf("%" G_GINT64_FORMAT, t->c->model->rotary_base)
               : NULL;
}

void rh_megatron_read_rotary_base(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->sizes[RH_SIZE_ROTARY_BASE]);
}

char *rh_megatron_write_norm(const RhLaunchText *t)
{
    return g_strdup(t->c->model->norm == RH_NORM_RMS ? "RMSNorm" : "LayerNorm");
}

void rh_megatron_read_norm(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_RMS] = strcmp(text, "RMSNorm") == 0;
}

char *rh_megatron_write_unbiased(const RhLaunchText *t)
{
    return t->sizes[RH_SIZE_BIASED] == 1 ? NULL : g_strdup("");
}

void rh_megatron_read_unbiased(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_BIASED] = !rh_launch_read_switch(text);
}

char *rh_megatron_write_qkv_bias(const RhLaunchText *t)
{
    return t->sizes[RH_SIZE_BIASED] != 1 && t->sizes[RH_SIZE_QKV_BIASED] == 1 ? g_strdup("") : NULL;
}

void rh_megatron_read_qkv_bias(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_QKV_BIASED] = rh_launch_read_switch(text);
}

char *rh_megatron_write_untied(const RhLaunchText *t)
{
    return t->sizes[RH_SIZE_TIED] == 1 ? NULL : g_strdup("");
}

void rh_megatron_read_untied(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_TIED] = !rh_launch_read_switch(text);
}

void rh_megatron_read_vocabulary(RhLaunchReading *r, const char *text)
{
    (void)rh_launch_read_number(r, text, &r->sizes[RH_SIZE_VOCAB]);
}

/* Sets what Megatron-LM's models have where no flag says otherwise. */
void rh_megatron_finish_model(RhLaunchReading *r)
{
    static const struct {
        RhLaunchSize size;
        int64_t usual;
    } usual[] = {{RH_SIZE_GATED, 0},  {RH_SIZE_RMS, 0},     {RH_SIZE_ROTARY, 0}, {RH_SIZE_TIED, 1},
                 {RH_SIZE_BIASED, 1}, {RH_SIZE_QK_NORM, 0}, {RH_SIZE_LATENT, 0}};
    int64_t *s = r->sizes;
    if (s[RH_SIZE_HIDDEN] < 0)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(usual); i++)
        if (s[usual[i].size] < 0)
            s[usual[i].size] = usual[i].usual;
    if (r->job[JOB_GROUPED] != 1 || s[RH_SIZE_GROUPS] < 0)
        s[RH_SIZE_GROUPS] = s[RH_SIZE_HEADS];
    if (s[RH_SIZE_FFN] < 0)
        s[RH_SIZE_FFN] =
            s[RH_SIZE_GATED] == 1 ? 4 * s[RH_SIZE_HIDDEN] * 2 / 3 / 64 * 64 : 4 * s[RH_SIZE_HIDDEN];
    if (s[RH_SIZE_EXPERTS] > 0 && s[RH_SIZE_ASKED] < 0)
        s[RH_SIZE_ASKED] = 2;
    if (s[RH_SIZE_EXPERTS] > 0 && s[RH_SIZE_EXPERT_FFN] < 0)
        s[RH_SIZE_EXPERT_FFN] = s[RH_SIZE_FFN];
}

/* --- numerics and the like, which change no cost --- */

/* Writes YaRN for latent attention, which scales by default: 4,096 original tokens, 32 and 1 are
 * its own values. */
static bool write_yarn(RhLaunchText *t, const RhNumerics *n)
{
    const RhRopeScaling *rope = &n->rope;
    RhLaunchNumber room;
    bool own = rope->original_positions == 4096 && rope->beta_fast == 32 && rope->beta_slow == 1;
    if (rope->type && (strcmp(rope->type, "yarn") != 0 || !own))
        return false;
    if (!rope->type && n->norm_epsilon > 0)
        rh_launch_write(t, "--rope-type rope --no-rope-fusion");
    if (!rope->type)
        return true;
    rh_launch_write(t, "--rope-type yarn --rotary-scaling-factor %s",
                    rh_launch_number(&room, rope->factor));
    if (rope->mscale > 0)
        rh_launch_write(t, "--mscale %s", rh_launch_number(&room, rope->mscale));
    if (rope->mscale_all_dim > 0)
        rh_launch_write(t, "--mscale-all-dim %s", rh_launch_number(&room, rope->mscale_all_dim));
    return true;
}

/* Writes the scaling of positions. The constants of Llama 3.1 are Megatron-LM's own, except the
 * factor (rotary_pos_embedding.py:94). */
static bool write_scaling(RhLaunchText *t, const RhRopeScaling *rope)
{
    RhLaunchNumber room;
    if (rh_rope_is_llama(rope))
        rh_launch_write(t, "--use-rope-scaling --rope-scaling-factor %s",
                        rh_launch_number(&room, rope->factor));
    else if (rope->type && strcmp(rope->type, "linear") == 0 && rope->factor == floor(rope->factor))
        rh_launch_write(t, "--rotary-seq-len-interpolation-factor %.0f", rope->factor);
    else
        return !rope->type;
    return true;
}

/* Writes what a mixture's flags do not follow from elsewhere. */
static void say_experts(RhLaunchText *t, const RhLayerKind *k)
{
    rh_launch_write(t, "--moe-grouped-gemm --moe-token-dispatcher-type %s",
                    t->layout->dispatch == RH_DISPATCH_DEEPEP ? "flex" : "alltoall");
    if (k->n_group > 1)
        rh_launch_write(t, "--moe-router-num-groups %d --moe-router-group-topk %d", k->n_group,
                        k->topk_group);
    rh_launch_note(
        t, "how the router of the experts scores and balances does not affect the time and is not "
           "set: add --moe-router-score-function, --moe-router-load-balancing-type and "
           "others as the model needs them");
}

static void say_rotation(const RhFramework *framework, RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhNumerics *n = &m->numerics;
    RhLaunchNumber room;
    bool written = true;
    if (m->position == RH_POSITION_ROTARY && n->rotary_frac < 1)
        rh_launch_write(t, "--rotary-percent %s", rh_launch_number(&room, n->rotary_frac));
    if (m->position == RH_POSITION_ROTARY)
        written = has_latent(t) ? write_yarn(t, n) : write_scaling(t, &n->rope);
    rh_launch_note_numerics(t, framework, m->position == RH_POSITION_ROTARY && written);
}

void rh_megatron_say_model(const RhFramework *framework, RhLaunchText *t)
{
    const RhModel *m = t->c->model;
    const RhLayerKind *mixed = rh_model_kind_with(m, &rh_mixture);
    RhLaunchNumber room;
    if (!m->kinds[0].ffn_gated && rh_launch_activation(m) == RH_ACTIVATION_RELU2)
        rh_launch_write(t, "--squared-relu");
    if (mixed)
        say_experts(t, mixed);
    rh_launch_write(t, "--attention-backend %s",
                    t->c->stack->flash_attention ? "flash" : "unfused");
    rh_launch_write(t, "--attention-dropout %s --hidden-dropout %s",
                    m->attention_dropout ? "0.1" : "0", m->hidden_dropout ? "0.1" : "0");
    say_rotation(framework, t);
    if (m->numerics.norm_epsilon > 0)
        rh_launch_write(t, "--norm-epsilon %s", rh_launch_number(&room, m->numerics.norm_epsilon));
    if (m->numerics.gain_from_one)
        rh_launch_write(t, "--apply-layernorm-1p");
}
