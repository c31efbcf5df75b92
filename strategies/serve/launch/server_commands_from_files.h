#pragma once
/* Finds the commands that start servers in files that people have: shell scripts and pasted lines
 * (also of docker run), manifests of Kubernetes and Docker Compose, and an engine's own configuration
 * file. Nothing is run. Which settings mean what is in deployment_from_commands.h. */
#include <glib.h>

#include "strategies/serve/launch/serving_engine.h"

/* A flag of a command, or a key of its configuration file. */
typedef struct {
    char *flag;  /* as written: "--max-num-seqs" */
    char *path;  /* as tables compare it: "max_num_seqs", "speculative_config.method" */
    char *text;  /* its value; NULL: a switch */
    bool whole;  /* nothing in the value is unknown, as a variable that the script does not set */
    char *place; /* "serve.sh:3:5", or the file's name */
} RhServerSetting;

typedef struct {
    const RhEngine *engine;
    char *model;         /* as written; NULL: none is said */
    char *version;       /* of the engine, as an image or a package has it; NULL: not said */
    GPtrArray *settings; /* owned RhServerSetting* */
    char *role;          /* name of its object in a larger file, as "prefill"; NULL: none */
    char *config;        /* a configuration file whose settings are not here; NULL: none */
    int32_t replicas;    /* of the server, as its manifest says; 0: not said */
} RhServerCommand;

/* Owned RhServerCommand*, in the file's order. RH_ERROR_IO; RH_ERROR_INPUT with the place of what is
 * wrong, or where the file starts no server. */
GPtrArray *rh_server_commands_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same of a text; other files are looked for beside `name`. */
GPtrArray *rh_server_commands_parse(const char *name, const char *text, size_t length,
                                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
