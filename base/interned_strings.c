#include "base/interned_strings.h"

#include <glib.h>

static GMutex lock;
static GStringChunk *texts;

const char *rh_intern(const char *text)
{
    if (!text)
        return NULL;
    g_mutex_lock(&lock);
    if (!texts)
        texts = g_string_chunk_new(4096);
    const char *kept = g_string_chunk_insert_const(texts, text);
    g_mutex_unlock(&lock);
    return kept;
}
