#include "cli/check_hub_files.h"

#include <string.h>

#include "base/units.h"
#include "report/format.h"
#include "workloads/config/hf_hub.h"
#include "workloads/lora.h"

/* --- adapters (PEFT's adapter_config.json) --- */

/* The layer beside which Megatron's names put an adapter; several of transformers' are one there. */
static const struct {
    const char *module, *layer;
} modules[] = {{"q_proj", "linear_qkv"},
               {"k_proj", "linear_qkv"},
               {"v_proj", "linear_qkv"},
               {"qkv_proj", "linear_qkv"},
               {"query_key_value", "linear_qkv"},
               {"W_pack", "linear_qkv"},
               {"o_proj", "linear_proj"},
               {"dense", "linear_proj"},
               {"gate_proj", "linear_fc1"},
               {"up_proj", "linear_fc1"},
               {"gate_up_proj", "linear_fc1"},
               {"down_proj", "linear_fc2"},
               {"w1", "linear_fc1"},
               {"w3", "linear_fc1"},
               {"w2", "linear_fc2"},
               {"in_proj", "in_proj"},
               {"out_proj", "out_proj"}};

static const char *layer_of(const char *module)
{
    for (size_t i = 0; i < G_N_ELEMENTS(modules); i++)
        if (strcmp(modules[i].module, module) == 0)
            return modules[i].layer;
    return NULL;
}

static void add_once(GPtrArray *list, const char *word)
{
    for (guint i = 0; i < list->len; i++)
        if (strcmp(list->pdata[i], word) == 0)
            return;
    g_ptr_array_add(list, (void *)word);
}

/* Sorts the modules of a file into layers that have adapters, and names that mean no layer. */
static void read_modules(RhJson *doc, const RhJsonNode *root, GPtrArray *layers, GPtrArray *others)
{
    const RhJsonNode *said = rh_json_member(root, "target_modules");
    bool listed = said && rh_json_kind(said) == RH_JSON_ARRAY;
    for (const RhJsonNode *n = listed ? rh_json_first(said) : NULL; n; n = rh_json_next(n)) {
        const char *module = rh_json_node_string(doc, n), *layer = layer_of(module);
        add_once(layer ? layers : others, layer ? layer : module);
    }
    if (said && rh_json_kind(said) == RH_JSON_TEXT &&
        strcmp(rh_json_node_string(doc, said), "all-linear") != 0)
        g_ptr_array_add(others, (void *)rh_json_node_string(doc, said));
}

static char *joined(GPtrArray *words, const char *between)
{
    g_ptr_array_add(words, NULL);
    return g_strjoinv(between, (char **)words->pdata);
}

static bool note_adapter(RhJson *doc, GString *notes, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    const char *type = rh_json_string(doc, root, "peft_type");
    const char *base = rh_json_string_or(doc, root, "base_model_name_or_path", "");
    bool is_lora = g_ascii_strcasecmp(type, "LORA") == 0;
    int64_t rank = is_lora ? rh_json_int(doc, root, "r", 1, 1 << 20) : 0;
    g_autoptr(GPtrArray) layers = g_ptr_array_new(), others = g_ptr_array_new();
    read_modules(doc, root, layers, others);
    const char *model = rh_hub_is_id(base) ? rh_hub_model(base) : NULL;
    if (!is_lora) {
        g_string_append_printf(notes, "adapter of PEFT, type %s\n", type);
        g_string_append(notes, "note: adapters of the type LORA are simulated, others are not\n");
    } else {
        bool all = layers->len == 0;
        g_autofree char *which = all ? NULL : joined(layers, "+");
        g_string_append_printf(notes, "adapter of PEFT, LoRA of rank %" G_GINT64_FORMAT "%s%s\n",
                               rank, *base ? " beside " : "", base);
        g_string_append_printf(notes, "note: rehearse plan -w %s --set lora.rank=%" G_GINT64_FORMAT,
                               model ? model : "MODEL", rank);
        if (!all)
            g_string_append_printf(notes, " --set lora.modules=%s", which);
        g_string_append(notes, " ... plans its training\n");
    }
    if (others->len > 0) {
        g_autofree char *names = joined(others, ", ");
        g_string_append_printf(notes, "note: target_modules that no layer here is called: %s\n",
                               names);
    }
    rh_json_consume_all(doc, root);
    return rh_json_finish(doc, error);
}

/* --- lists of tensors (model.safetensors.index.json) --- */

static bool note_tensors(RhJson *doc, GString *notes, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc), *map = rh_json_object(doc, root, "weight_map");
    const RhJsonNode *metadata = rh_json_object_or_null(doc, root, "metadata");
    g_autoptr(GHashTable) files = g_hash_table_new(g_str_hash, g_str_equal);
    int64_t tensors = 0;
    for (const RhJsonNode *n = map ? rh_json_first(map) : NULL; n; n = rh_json_next(n), tensors++)
        g_hash_table_add(files, (void *)rh_json_node_string(doc, n));
    int64_t bytes =
        metadata ? rh_json_int_or(doc, metadata, "total_size", 0, INT64_C(1) << 53, 0) : 0;
    g_autofree char *count = rh_text_count(tensors);
    guint parts = g_hash_table_size(files);
    g_string_append_printf(notes, "index of a model's weights, %s tensors in %u file%s", count,
                           parts, parts == 1 ? "" : "s");
    if (bytes > 0)
        g_string_append_printf(notes, ", %.2f GiB", (double)bytes / RH_GIB_BYTES);
    g_string_append(notes,
                    "\nnote: the model's sizes are in the config.json beside it, which -w takes\n");
    rh_json_consume_all(doc, root);
    return rh_json_finish(doc, error);
}

/* --- the table --- */

static const struct {
    const char *key;
    RhHubFileFunc notes;
} kinds[] = {{"peft_type", note_adapter}, {"weight_map", note_tensors}};

RhHubFileFunc rh_hub_file_kind(const RhJsonNode *root)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (rh_json_kind(root) == RH_JSON_OBJECT && rh_json_has(root, kinds[i].key))
            return kinds[i].notes;
    return NULL;
}

/* --- models of several parts --- */

/* Does the member describe a part that works on pictures, sounds or other things than text? */
static bool is_tower(const RhJsonNode *member)
{
    static const char *const words[] = {"vision", "visual", "image",  "audio",
                                        "speech", "sound",  "talker", "code2wav"};
    const char *key = rh_json_key(member);
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (rh_json_kind(member) == RH_JSON_OBJECT && strstr(key, words[i]))
            return true;
    return false;
}

void rh_hub_note_parts(const RhJsonNode *root, GString *notes)
{
    g_autoptr(GPtrArray) towers = g_ptr_array_new();
    bool whole = rh_json_kind(root) == RH_JSON_OBJECT;
    for (const RhJsonNode *n = whole ? rh_json_first(root) : NULL; n; n = rh_json_next(n))
        if (is_tower(n))
            g_ptr_array_add(towers, (void *)rh_json_key(n));
    if (towers->len == 0)
        return;
    bool several = towers->len > 1;
    g_autofree char *names = joined(towers, ", ");
    g_string_append_printf(
        notes,
        "note: this is its language model alone: the parts of %s are left out, with "
        "%s memory and time\n",
        names, several ? "their" : "its");
}
