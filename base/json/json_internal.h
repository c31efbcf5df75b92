#pragma once
/* State shared by the files of the JSON reader. Private to them. */
#include <cjson/cJSON.h>

#include "base/json/json.h"
#include "base/json/json_tree_builder.h"

#define RH_JSON_DEPTH_MAX 64
#define RH_JSON_BYTES_MAX (64u * 1024 * 1024)
#define RH_JSON_VALUES_MAX                                                                         \
    (4 << 20) /* each takes about 100 B in memory, whatever its size in the file */

#define RH_JSON_NO_NUMBER "\x7f" /* text that replaces NaN and Infinity while parsing */

typedef struct {
    const RhJsonNode *node;
    bool at_key;         /* underline the key rather than the value */
    char *message;       /* owned */
    char *help;          /* owned, may be NULL */
    size_t offset, span; /* set by rh_json_locate() */
} RhJsonProblem;

struct RhJson {
    char *name;
    char *text; /* owned, as read, for messages */
    /* owned, of the same length, with comments and byte order mark blanked; this is parsed */
    char *plain;
    size_t length;
    char *hash;
    cJSON *root;
    GHashTable *places;   /* node -> owned RhJsonPlace, of a text that is not JSON; NULL: it is */
    GHashTable *consumed; /* set of RhJsonNode* */
    GPtrArray *problems;  /* owned RhJsonProblem*, the first ones only */
    guint problems_count; /* all of them */
    GPtrArray *known;     /* borrowed, interned: every requested key, once */
    GHashTable *known_set;
};

/* Formats "message --> file:line:col" with the line and carets under `span` bytes at `offset`.
 * Caller frees. */
char *rh_json_render(const RhJson *doc, size_t offset, size_t span, const char *message,
                     const char *help);
/* Returns a document of a text that is not parsed yet. */
RhJson *rh_json_new_bare(const char *name, const char *text, size_t length);
/* Fails with a message at a position of the text; returns false. */
bool rh_json_reject(const RhJson *doc, size_t offset, GError **error, const char *message,
                    const char *help);
/* Checks that the text is UTF-8 without NUL. */
bool rh_json_check_utf8(const RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Checks keys and numbers of the finished tree. RH_ERROR_INPUT with all problems. */
bool rh_json_check_tree(RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sets offset and span of every problem, in one walk over the text. */
void rh_json_locate(const RhJson *doc, GPtrArray *problems);
void rh_json_problem_free(void *problem);
/* Returns true when there is no problem; else sets an error with all of them, by position. */
bool rh_json_report(RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads a whole file of at most `most` bytes and appends NUL. RH_ERROR_IO, or RH_ERROR_INPUT when
 * larger. */
bool rh_file_read(const char *path, size_t most, char **text, size_t *length,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Writes `target`, a regular or new file, by way of ".NAME.rehearse-part" beside it, as
 * rh_file_write does where the file system has no unnamed files; concurrent writers of one file
 * wait for each other. `mode` -1: the default of a new file. Returns false with errno. */
bool rh_file_write_beside(const char *target, const char *text, size_t length, int mode);
