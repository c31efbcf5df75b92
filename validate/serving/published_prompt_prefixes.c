#include "validate/serving/published_prompt_prefixes.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/json/json.h"

#define PROMPTS_MAX 1000000

/* The earlier prompt with which a prompt shares a prefix, and the shared blocks. */
typedef struct {
    int32_t prompt, like, blocks;
} Beginning;

typedef struct {
    GArray *beginnings; /* Beginning, by prompt */
    int32_t prompts;
} Known;

static void read_beginning(RhJson *doc, const RhJsonNode *node, int32_t block_tokens, Known *known)
{
    const RhJsonNode *prompt = rh_json_at(node, 0), *like = rh_json_at(node, 1),
                     *tokens = rh_json_at(node, 2);
    if (rh_json_count(node) != 3) {
        rh_json_problem(doc, node, NULL, "expected [prompt, earlier prompt, tokens]");
        return;
    }
    Beginning b = {.prompt = (int32_t)rh_json_node_int(doc, prompt, 1, known->prompts - 1),
                   .like = (int32_t)rh_json_node_int(doc, like, 0, known->prompts - 1)};
    int64_t said = rh_json_node_int(doc, tokens, block_tokens, RH_REQUEST_TOKENS_MAX);
    b.blocks = (int32_t)(said / block_tokens);
    if (b.like >= b.prompt)
        rh_json_problem(doc, like, NULL, "prompt %d does not stand before prompt %d", b.like,
                        b.prompt);
    g_array_append_val(known->beginnings, b);
}

/* Is it the file that was asked for? Then *known has its content. */
static bool read_file(RhJson *doc, const RhJsonNode *file, int32_t block_tokens, const char *sha256,
                      Known *known)
{
    bool wanted = strcmp(rh_json_string(doc, file, "sha256"), sha256) == 0;
    if (!wanted) {
        rh_json_consume_all(doc, file);
        return false;
    }
    rh_json_word(doc, file, "source");
    known->prompts = (int32_t)rh_json_int(doc, file, "prompts", 2, PROMPTS_MAX);
    const RhJsonNode *list = rh_json_array(doc, file, "alike");
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n))
        read_beginning(doc, n, block_tokens, known);
    return true;
}

/* Names blocks: a block's hash is its own number, or that of an equal earlier block. */
static bool name_blocks(RhRequests *requests, const int32_t *places, const Known *known,
                        GError **error)
{
    int32_t tokens = requests->block_tokens;
    g_autofree int32_t *request_at = g_new(int32_t, known->prompts);
    g_autofree Beginning *begins = g_new0(Beginning, known->prompts);
    memset(request_at, -1, sizeof *request_at * (size_t)known->prompts);
    for (guint i = 0; i < known->beginnings->len; i++) {
        const Beginning *b = &g_array_index(known->beginnings, Beginning, i);
        begins[b->prompt] = *b;
    }
    for (guint i = 0; i < requests->list->len; i++) {
        if (places[i] < 0 || places[i] >= known->prompts)
            return rh_fail(error, RH_ERROR_INPUT,
                           "request %d of a file of %d prompts that meta.json names", places[i] + 1,
                           known->prompts);
        request_at[places[i]] = (int32_t)i;
    }
    for (int32_t p = 0; p < known->prompts; p++) {
        if (request_at[p] < 0)
            continue;
        RhRequest *q = &g_array_index(requests->list, RhRequest, request_at[p]);
        int32_t like = begins[p].blocks > 0 ? request_at[begins[p].like] : -1;
        const RhRequest *earlier =
            like >= 0 ? &g_array_index(requests->list, RhRequest, like) : NULL;
        q->blocks_first = (int32_t)requests->blocks->len;
        q->blocks_count = q->input_tokens / tokens;
        if (earlier && begins[p].blocks > MIN(q->blocks_count, earlier->blocks_count)) {
            bool later = q->blocks_count < earlier->blocks_count;
            return rh_fail(
                error, RH_ERROR_INPUT,
                "request %d has %d tokens, and %d at least in the file of prompts that meta.json names",
                (later ? p : begins[p].like) + 1, (later ? q : earlier)->input_tokens,
                begins[p].blocks * tokens);
        }
        for (int32_t k = 0; k < q->blocks_count; k++) {
            uint64_t name = (uint64_t)q->blocks_first + (uint64_t)k;
            if (earlier && k < begins[p].blocks)
                name = g_array_index(requests->blocks, uint64_t, earlier->blocks_first + k);
            g_array_append_val(requests->blocks, name);
        }
    }
    return true;
}

bool rh_alike_name(RhRequests *requests, const int32_t *places, const char *sha256, GError **error)
{
    g_autofree char *path = g_build_filename(rh_data_dir(), "validate", "data", "alike.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc), *files = rh_json_array(doc, root, "files");
    int32_t tokens = (int32_t)rh_json_int(doc, root, "block_tokens", 1, 1 << 16);
    g_autoptr(GArray) beginnings = g_array_new(FALSE, FALSE, sizeof(Beginning));
    Known known = {.beginnings = beginnings};
    bool there = false;
    for (const RhJsonNode *n = files ? rh_json_first(files) : NULL; n; n = rh_json_next(n))
        there |= read_file(doc, n, tokens, sha256, &known);
    if (!rh_json_finish(doc, error))
        return false;
    if (!there)
        return true;
    requests->block_tokens = tokens;
    return name_blocks(requests, places, &known, error);
}
