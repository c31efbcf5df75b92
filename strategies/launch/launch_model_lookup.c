/* Finds the model that a launch trains: by its name, or by its sizes, which are those of a model of
 * the catalogue or are set on one of its kind. */
#include <string.h>

#include "strategies/launch/readers.h"
#include "workloads/config/hf_hub.h"
#include "workloads/model.h"

/* A model of the catalogue. */
typedef struct {
    const char *name;
    bool encoder;
    int64_t sizes[RH_SIZE_LAST];
} KnownModel;

static GArray *load_models(void)
{
    GArray *models = g_array_new(FALSE, FALSE, sizeof(KnownModel));
    for (const char *const *name = rh_model_names(); *name; name++) {
        g_autoptr(RhModel) model = rh_model_load(*name, NULL);
        if (!model)
            continue;
        KnownModel known = {.name = *name, .encoder = model->encoder != NULL};
        rh_launch_sizes_of(model, known.sizes);
        g_array_append_val(models, known);
    }
    return models;
}

/* Returns the catalogue's models, read once: an array of KnownModel. */
static const GArray *known_models(void)
{
    static GArray *models;
    if (g_once_init_enter(&models))
        g_once_init_leave(&models, load_models());
    return models;
}

/* Returns how well sizes fit: -1 not at all; else how many of those that may differ agree. */
static int fit_of(const int64_t *said, const KnownModel *model)
{
    static const RhLaunchSize must[] = {
        RH_SIZE_LAYERS,  RH_SIZE_HIDDEN, RH_SIZE_HEADS,      RH_SIZE_GROUPS,    RH_SIZE_HEAD,
        RH_SIZE_EXPERTS, RH_SIZE_ASKED,  RH_SIZE_EXPERT_FFN, RH_SIZE_KV_LATENT, RH_SIZE_RMS};
    static const RhLaunchSize may[] = {RH_SIZE_VOCAB, RH_SIZE_ROTARY_BASE, RH_SIZE_POSITIONS,
                                       RH_SIZE_TIED};
    const int64_t *its = model->sizes;
    int agreed = 0;
    bool mixed = its[RH_SIZE_EXPERTS] > 0, latent = its[RH_SIZE_LATENT] == 1;
    if (mixed != (said[RH_SIZE_EXPERTS] > 0) || model->encoder)
        return -1;
    for (size_t i = 0; i < G_N_ELEMENTS(must); i++) {
        bool of_latent = latent && (must[i] == RH_SIZE_GROUPS || must[i] == RH_SIZE_HEAD);
        if (said[must[i]] >= 0 && !of_latent && said[must[i]] != its[must[i]])
            return -1;
    }
    if (!mixed && said[RH_SIZE_FFN] >= 0 && said[RH_SIZE_FFN] != its[RH_SIZE_FFN])
        return -1;
    for (size_t i = 0; i < G_N_ELEMENTS(may); i++)
        agreed += said[may[i]] >= 0 && said[may[i]] == its[may[i]] ? 1 + 4 * (i == 0) : 0;
    return agreed;
}

static const char *model_of_sizes(const int64_t *said, int *best)
{
    const char *found = NULL;
    const GArray *models = known_models();
    *best = -1;
    for (guint i = 0; i < models->len; i++) {
        const KnownModel *model = &g_array_index(models, KnownModel, i);
        int fit = fit_of(said, model);
        if (fit > *best) {
            *best = fit;
            found = model->name;
        }
    }
    return found;
}

/* Returns a model of the same kind, whose sizes can be set; NULL: there is none. */
static const char *model_of_kind(const int64_t *s)
{
    return s[RH_SIZE_LATENT] == 1                                 ? NULL
           : s[RH_SIZE_EXPERTS] > 0                               ? "mixtral-8x7b"
           : s[RH_SIZE_QK_NORM] == 1                              ? "qwen3-8b"
           : s[RH_SIZE_QKV_BIASED] == 1 && s[RH_SIZE_BIASED] == 0 ? "qwen2.5-7b"
           : s[RH_SIZE_RMS] == 1 || s[RH_SIZE_GATED] == 1         ? "llama-2-7b"
                                                                  : "gpt3-175b";
}

static void set_sizes(RhLaunchReading *r)
{
    static const struct {
        RhLaunchSize size;
        const char *key;
    } keys[] = {{RH_SIZE_LAYERS, "layers"},       {RH_SIZE_HIDDEN, "hidden"},
                {RH_SIZE_HEADS, "heads"},         {RH_SIZE_GROUPS, "kv_heads"},
                {RH_SIZE_HEAD, "head_size"},      {RH_SIZE_FFN, "ffn"},
                {RH_SIZE_EXPERTS, "experts"},     {RH_SIZE_ASKED, "experts_per_token"},
                {RH_SIZE_POSITIONS, "positions"}, {RH_SIZE_TIED, "tied"},
                {RH_SIZE_VOCAB, "vocab"}};
    const int64_t *s = r->sizes;
    bool mixed = s[RH_SIZE_EXPERTS] > 0, biased = strcmp(r->model, "gpt3-175b") == 0;
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        int64_t value =
            keys[i].size == RH_SIZE_FFN && mixed ? s[RH_SIZE_EXPERT_FFN] : s[keys[i].size];
        bool plain = biased && keys[i].size == RH_SIZE_GROUPS;
        if (keys[i].size == RH_SIZE_TIED && value >= 0)
            g_ptr_array_add(r->sets, g_strdup_printf("model.tied=%s", value == 1 ? "on" : "off"));
        else if (value > 0 && !plain)
            g_ptr_array_add(r->sets,
                            g_strdup_printf("model.%s=%" G_GINT64_FORMAT, keys[i].key, value));
    }
}

/* Tells that the model is known by its sizes alone, and which of them the launch leaves open. */
static void tell_found(RhLaunchReading *r)
{
    bool width = r->sizes[RH_SIZE_FFN] > 0 || r->sizes[RH_SIZE_EXPERT_FFN] > 0;
    bool vocabulary = r->sizes[RH_SIZE_VOCAB] > 0;
    if (width && vocabulary)
        return;
    rh_launch_tell(r,
                   "the model is a guess: %s has such layers, and %s%s%s %s not said (-w MODEL "
                   "says it)",
                   r->model, width ? "" : "the width of ffn", width || vocabulary ? "" : " and ",
                   vocabulary ? "" : "the vocabulary", width || vocabulary ? "is" : "are");
}

/* Names a model by its sizes. */
static void take_sizes(RhLaunchReading *r)
{
    int fit = -1;
    const int64_t *s = r->sizes;
    const char *found = model_of_sizes(s, &fit);
    if (found) {
        r->model = g_strdup(found);
        tell_found(r);
        g_autoptr(RhModel) model = rh_model_load(found, NULL);
        if (model && s[RH_SIZE_VOCAB] > 0 && s[RH_SIZE_VOCAB] != model->vocab)
            g_ptr_array_add(r->sets,
                            g_strdup_printf("model.vocab=%" G_GINT64_FORMAT, s[RH_SIZE_VOCAB]));
        return;
    }
    const char *kind = model_of_kind(s);
    if (!kind || s[RH_SIZE_LAYERS] < 1 || s[RH_SIZE_HEADS] < 1)
        return;
    r->model = g_strdup(kind);
    set_sizes(r);
    rh_launch_tell(r, "the model has sizes of its own: they are set on %s, a model of its kind",
                   kind);
    if (s[RH_SIZE_SHARED_FFN] > 0 || s[RH_SIZE_DENSE_LAYERS] > 0)
        rh_launch_tell(r, "its shared experts and layers without experts are left out: say the "
                          "model with -w and a config.json");
}

/* Returns the longest name of the catalogue that stands in a name, as in "llama-3-70b-fp16"; the
 * models of Llama 3 have the sizes of Llama 3.1. */
static const char *contained_name(const char *said)
{
    g_auto(GStrv) parts = g_strsplit(said, "llama-3-", -1);
    g_autofree char *plain = g_strjoinv("llama-3.1-", parts);
    const char *found = NULL;
    for (const char *const *name = rh_model_names(); *name; name++) {
        const char *at = strstr(plain, *name);
        char before = at && at > plain ? at[-1] : '-', after = at ? at[strlen(*name)] : 0;
        bool whole = at && strchr("-_/.", before) && (!after || strchr("-_/", after));
        if (whole && (!found || strlen(*name) > strlen(found)))
            found = *name;
    }
    return found;
}

/* Returns the catalogue's name of a name of the hub or a folder's last part; NULL: not known. */
static const char *catalogue_name(const char *said)
{
    const char *found = rh_hub_is_id(said) ? rh_hub_model(said) : NULL;
    g_autofree char *base = g_path_get_basename(said);
    g_autofree char *plain = g_ascii_strdown(base, -1);
    if (found)
        return found;
    for (const char *const *name = rh_model_names(); *name; name++)
        if (strcmp(*name, plain) == 0)
            return *name;
    found = contained_name(plain);
    if (found)
        return found;
    static const char *const owners[] = {"meta-llama",  "Qwen",   "mistralai",
                                         "deepseek-ai", "google", "nvidia"};
    for (size_t i = 0; i < G_N_ELEMENTS(owners); i++) {
        g_autofree char *id = g_strdup_printf("%s/%s", owners[i], base);
        found = rh_hub_is_id(id) ? rh_hub_model(id) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

void rh_launch_find_workload(RhLaunchReading *r)
{
    g_autofree char *said = g_steal_pointer(&r->model);
    const char *named = said ? catalogue_name(said) : NULL;
    if (named) {
        r->model = g_strdup(named);
        return;
    }
    if (r->sizes[RH_SIZE_HIDDEN] > 0 && r->sizes[RH_SIZE_LAYERS] > 0)
        take_sizes(r);
    if (!r->model && said)
        rh_launch_tell(r, "the catalogue has no \"%s\": say the model with -w", said);
    else if (!r->model && r->sizes[RH_SIZE_HIDDEN] > 0)
        rh_launch_tell(r, "no model of the catalogue has such layers: say the model with -w");
}
