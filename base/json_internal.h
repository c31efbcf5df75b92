#pragma once
/* Shared by the files that read JSON alone. */
#include <cjson/cJSON.h>

#include "base/json.h"

#define RH_JSON_DEPTH_MAX 64
#define RH_JSON_BYTES_MAX (64u * 1024 * 1024)
#define RH_JSON_VALUES_MAX                                                                         \
    (4 << 20) /* each takes some 100 B in memory, whatever it takes in the file */

#define RH_JSON_NO_NUMBER                                                                          \
    "\x7f" /* the text that stands for NaN and Infinity once the file is read */

typedef struct {
    const RhJsonNode *node;
    bool at_key;         /* underline the key rather than the value */
    char *message;       /* owned */
    char *help;          /* owned, may be NULL */
    size_t offset, span; /* set by rh_json_locate() */
} RhJsonProblem;

struct RhJson {
    char *name;
    char *text;  /* owned, as read: what messages show */
    char *plain; /* owned, the same length: comments and byte order mark blanked; what is parsed */
    size_t length;
    char *hash;
    cJSON *root;
    GHashTable *consumed; /* set of RhJsonNode* */
    GPtrArray *problems;  /* owned RhJsonProblem*, the first of them */
    guint problems_count; /* all of them */
    GPtrArray *known;     /* borrowed, interned: every key that was asked for, once */
    GHashTable *known_set;
};

/* "message --> file:line:col" with the line and carets under `span` bytes at `offset`. Caller
 * frees. */
char *rh_json_render(const RhJson *doc, size_t offset, size_t span, const char *message,
                     const char *help);
/* Sets offset and span of every problem, in one walk over the text. */
void rh_json_locate(const RhJson *doc, GPtrArray *problems);
void rh_json_problem_free(void *problem);
/* True when there is no problem; else all of them rendered, by position. */
bool rh_json_report(RhJson *doc, GError **error);
/* The whole file, NUL added; at most `most` bytes. RH_ERROR_IO, or RH_ERROR_INPUT when larger. */
bool rh_file_read(const char *path, size_t most, char **text, size_t *length, GError **error);
/* Writes `target`, a regular file or none, by way of ".NAME.rehearse-part" beside it, as rh_file_write
 * does where files without names are not to be had; writers of one file wait for each other. `mode`
 * -1: a new file's. False and errno. */
bool rh_file_write_beside(const char *target, const char *text, size_t length, int mode);
