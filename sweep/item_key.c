#include "sweep/item_key.h"

#include <string.h>

#define KEY_DIGITS 32

struct RhItemKeys {
    char *version;
    GHashTable *files; /* value of a word -> owned digest of the file that it names; "": none */
};

RhItemKeys *rh_item_keys_new(const char *version)
{
    RhItemKeys *keys = g_new0(RhItemKeys, 1);
    keys->version = g_strdup(version);
    keys->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return keys;
}

void rh_item_keys_free(RhItemKeys *keys)
{
    if (!keys)
        return;
    g_free(keys->version);
    g_hash_table_unref(keys->files);
    g_free(keys);
}

/* The file of a value, or of what stands before its last ':', '#' or ','; caller frees. */
static char *file_of(const char *value)
{
    g_autofree char *path = g_strdup(value);
    for (;;) {
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
            return g_steal_pointer(&path);
        if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
            g_autofree char *config = g_build_filename(path, "config.json", NULL);
            return g_file_test(config, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&config) : NULL;
        }
        char *end = strpbrk(path, ":#,");
        for (char *next = end; next; next = strpbrk(next + 1, ":#,"))
            end = next;
        if (!end || end == path)
            return NULL;
        *end = '\0';
    }
}

static const char *digest_of(RhItemKeys *keys, const char *value)
{
    const char *known = g_hash_table_lookup(keys->files, value);
    if (known)
        return known;
    g_autofree char *path = *value ? file_of(value) : NULL;
    g_autoptr(GMappedFile) file = path ? g_mapped_file_new(path, FALSE, NULL) : NULL;
    char *digest = file ? g_compute_checksum_for_data(
                              G_CHECKSUM_SHA256, (const guchar *)g_mapped_file_get_contents(file),
                              g_mapped_file_get_length(file))
                        : g_strdup("");
    g_hash_table_insert(keys->files, g_strdup(value), digest);
    return digest;
}

static void add(GChecksum *sum, const char *text)
{
    g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
}

char *rh_item_key(RhItemKeys *keys, const char *command, char *const *words)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    add(sum, keys->version);
    add(sum, command);
    for (; *words; words++) {
        const char *equals = strchr(*words, '=');
        add(sum, *words);
        add(sum, equals ? digest_of(keys, equals + 1) : "");
    }
    return g_strndup(g_checksum_get_string(sum), KEY_DIGITS);
}
