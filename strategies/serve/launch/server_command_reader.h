#pragma once
/* State of reading a file for commands of servers, and how its words become commands. Private to
 * server_commands_from_files.c and server_manifest_reader.c. */
#include "base/json/json.h"
#include "base/json/json_tree_builder.h"
#include "strategies/serve/launch/server_commands_from_files.h"

/* A word of a command, wherever it stood. */
typedef struct {
    char *text, *place;
    bool whole;
} RhServerWord;

typedef struct {
    const char *name;
    GPtrArray *commands;  /* the result */
    GHashTable *files;    /* of here-documents: name -> text, borrowed */
    GHashTable *versions; /* engine -> version, owned, of packages and images */
    int32_t depth;
} RhServerReader;

void rh_server_word_free(gpointer word);
void rh_server_add_word(GPtrArray *words, const char *text, const char *place, bool whole);
void rh_server_setting_free(gpointer setting);
/* Returns the text of a scalar; NULL: it is none. Caller frees. */
char *rh_server_scalar_text(RhJson *doc, const RhJsonNode *node);
/* Adds the members of an object as settings, with the path of the object before theirs. */
void rh_server_add_members(RhServerCommand *c, RhJson *doc, const RhJsonNode *object,
                           const char *path, const RhServerWord *at);
/* Is this the engine's name for the model? */
bool rh_server_is_model(const RhEngine *engine, const char *path);
/* Returns the engine whose image this is ("vllm/vllm-openai:v0.10.1"), and notes its version. */
const RhEngine *rh_server_engine_of_image(RhServerReader *r, const char *word);
/* Reads one command: a server's, or one that starts it (docker run, bash -c, srun ...). `image` may
 * be the engine of the image that it runs in, whose entry point starts a server. */
bool rh_server_read_words(RhServerReader *r, const GPtrArray *words, const RhEngine *image,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does a text hold a command of a server? A quick look before it is split. */
bool rh_server_holds_command(const char *text);
/* Reads all commands of a script. `place` is where its text stands, NULL: it is the file. */
bool rh_server_read_script(RhServerReader *r, const char *text, size_t length, const char *place,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads a manifest, or a configuration file of an engine. */
bool rh_server_read_yaml(RhServerReader *r, const char *text, size_t length,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
