/* Writes numerics of a model into launch scripts, as far as frameworks share them. */
#include <string.h>

#include "strategies/launch/framework.h"

const char *rh_launch_number(RhLaunchNumber *room, double value)
{
    return g_ascii_formatd(room->text, sizeof room->text, "%.12g", value);
}

RhActivationKind rh_launch_activation(const RhModel *m)
{
    static const struct {
        const char *begins;
        RhActivationKind activation;
    } rows[] = {{"silu", RH_ACTIVATION_SILU},   {"swish", RH_ACTIVATION_SILU},
                {"swiglu", RH_ACTIVATION_SILU}, {"gelu", RH_ACTIVATION_GELU},
                {"relu2", RH_ACTIVATION_RELU2}, {"relu_squared", RH_ACTIVATION_RELU2},
                {"relu", RH_ACTIVATION_RELU}};
    const char *named = m->numerics.activation;
    if (!named)
        return m->kinds[0].ffn_gated ? RH_ACTIVATION_SILU : RH_ACTIVATION_GELU;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_has_prefix(named, rows[i].begins))
            return rows[i].activation;
    return RH_ACTIVATION_OTHER;
}

bool rh_launch_check_numerics(const RhFramework *framework, const RhProblem *c, uint32_t plain,
                              bool parts, GError **error)
{
    const RhModel *m = c->model;
    RhActivationKind a = rh_launch_activation(m);
    bool known = m->kinds[0].ffn_gated ? a == RH_ACTIVATION_SILU : (plain >> a & 1) != 0;
    g_autofree char *what =
        !known ? g_strdup_printf("the activation %s of its %snetworks", m->numerics.activation,
                                 m->kinds[0].ffn_gated ? "gated " : "")
        : m->position == RH_POSITION_ROTARY && m->numerics.rotary_frac < 1 && !parts
            ? g_strdup("rotary positions on a part of each head")
            : NULL;
    return !what || rh_launch_fail_model(framework, c, what, error);
}

void rh_launch_note_numerics(RhLaunchText *t, const RhFramework *framework, bool written)
{
    const RhModel *m = t->c->model;
    const RhRopeScaling *rope = &m->numerics.rope;
    RhLaunchNumber room;
    if (m->numerics.norm_epsilon == 0)
        rh_launch_note(
            t,
            "the built-in description of %s has no epsilon of the norms: it, the activation and "
            "rope scaling are %s's defaults; with -w FOLDER, a folder with the published "
            "config.json, the script sets them",
            m->name, framework->title);
    if (rope->by_layer)
        rh_launch_note(
            t, "%s has no option for rope scaling that differs between layers: set it by hand",
            framework->title);
    else if (rope->type && !written)
        rh_launch_note(t,
                       "rope scaling \"%s\" (factor %s, %" G_GINT64_FORMAT
                       " original tokens) has no option in %s: positions are not scaled",
                       rope->type, rh_launch_number(&room, rope->factor), rope->original_positions,
                       framework->title);
}
