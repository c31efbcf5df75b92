#pragma once
/* How a serving engine is started: its commands, the flags and keys of its configuration file, what
 * each means for a deployment, and its defaults by version. A file each (strategies/serve/engines),
 * read in both directions: commands are printed (report/serve/serve_launch.c) and read
 * (deployment_from_commands.h) by the same rows. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/devices/device.h"

typedef enum {
    RH_ENGINE_FLAG_NUMBER,   /* a whole number */
    RH_ENGINE_FLAG_TOKENS,   /* the same, perhaps as 32k, 32K (1,024) or 1M */
    RH_ENGINE_FLAG_FRACTION, /* 0.9: percent of a key */
    RH_ENGINE_FLAG_SWITCH,   /* `on` where it is said, `off` where it is said with --no- or false */
    RH_ENGINE_FLAG_WORD,     /* one of `words` */
    RH_ENGINE_FLAG_ALL,      /* all GPUs of a server */
    RH_ENGINE_FLAG_NULL,     /* `on` where its value is null */
    RH_ENGINE_FLAG_IGNORED,
    RH_ENGINE_FLAG_LAST
} RhEngineOptionKind;

/* A word that the engine takes, and the value of the deployment's key that it stands for. */
typedef struct {
    const char *said, *means; /* interned; means "": nothing that is counted */
} RhEngineOptionValue;

typedef struct {
    const char *const *names; /* as typed, the one that is printed first; NULL-ended */
    const char *key; /* of a deployment, or one that deployment_from_commands.c knows; "": none */
    RhEngineOptionKind kind;
    const char *on, *off;       /* NULL: says nothing */
    RhEngineOptionValue *words; /* ended by one without `said`; NULL: no words */
    const char *const *both;    /* recipes that the engine makes of wider weights; NULL-ended */
    bool prints, always;        /* is printed for a deployment; always */
} RhEngineOption;

/* Limits where no flag says them, from a version on, on some devices. */
typedef struct {
    const char *from;
    double at_least_bytes;        /* of the device's memory; 0: any */
    const char *not_device;       /* part of the name of a device that it is not for; NULL: none */
    int32_t batch, chunk, memory; /* 0: none */
    const char *source;
} RhEngineLimits;

typedef struct {
    const char *from, *server;
} RhEngineServer;

/* Effect on the cost of an option that is of no deployment's key. */
typedef enum {
    RH_ENGINE_OPTION_UNKNOWN,
    RH_ENGINE_OPTION_FREE,        /* takes a value, and changes no cost that is modelled */
    RH_ENGINE_OPTION_FREE_SWITCH, /* a switch that changes no cost that is modelled */
    RH_ENGINE_OPTION_UNMODELLED   /* changes cost, and is not modelled */
} RhEngineOptionCost;

typedef struct {
    const char *name, *title; /* the project, and the commit whose parser has the words */
    const char *project;      /* "vLLM" */
    const char *const *commands, *const *images, *const *packages, *const *model;
    const char *command; /* as it is printed */
    const char *dp_switch, *dp_line, *config, *router;
    const char *roles[2], *role_lines[2]; /* of two pools: reads prompts, makes tokens */
    GArray *flags;                        /* RhEngineOption */
    GArray *defaults;                     /* RhEngineLimits */
    GArray *servers;                      /* RhEngineServer, by version */
    GHashTable *option_costs;             /* path -> RhEngineOptionCost */
} RhEngine;

const RhEngine *rh_serving_engine(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
const char *const *rh_serving_engine_names(void);
/* A flag or key as tables compare it: "--max-num-seqs" is max_num_seqs. Caller frees. */
char *rh_engine_path(const char *flag);
/* The row of a path; NULL: it is none of these. */
const RhEngineOption *rh_engine_flag(const RhEngine *engine, const char *path);
RhEngineOptionCost rh_engine_option_cost(const RhEngine *engine, const char *path);
/* The first row that is printed for a key of a deployment; NULL: none. */
const RhEngineOption *rh_engine_printed(const RhEngine *engine, const char *key);
/* What a word means; NULL: the row has no such word. */
const char *rh_engine_meaning(const RhEngineOption *flag, const char *said);
/* The first word that means this; NULL: none. */
const char *rh_engine_word(const RhEngineOption *flag, const char *means);
/* Compares versions as "0.10.1"; < 0, 0, > 0. */
int rh_version_compare(const char *a, const char *b);
/* The limits that a version takes by itself on a device; NULL, the latest version. NULL: none are
 * known. */
const RhEngineLimits *rh_engine_limits(const RhEngine *engine, const char *version,
                                       const RhDevice *device);
/* The server of a version; NULL, the latest. */
const char *rh_engine_server(const RhEngine *engine, const char *version);
