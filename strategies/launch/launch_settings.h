#pragma once
/* Settings of somebody's launch: flags of a command line and keys of a configuration file, flat, each
 * with its place. Private to this folder.
 *
 * A key of a file is called by its path, "training.seq_len"; a flag without its dashes. */
#include "base/json/json_tree_builder.h"
#include "base/shell/shell_script.h"

typedef struct {
    char *name, *text;      /* owned; "" for a switch; elements of a list with ", " between */
    RhJson *doc;            /* borrowed: where it stands, */
    const RhJsonNode *node; /* and its node there */
    bool whole;             /* its value is known: no variable from outside is in it */
    bool said;              /* not null */
} RhLaunchSetting;

typedef struct {
    GPtrArray *docs; /* owned RhJson* */
    GArray *rows;    /* RhLaunchSetting, in the files' order; later ones replace earlier ones */
} RhLaunchSettings;

RhLaunchSettings *rh_launch_settings_new(void);
void rh_launch_settings_free(RhLaunchSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunchSettings, rh_launch_settings_free)

/* Adds all keys below `node` of a document, which is owned from now on where it is not yet. */
void rh_launch_settings_add_tree(RhLaunchSettings *s, RhJson *doc, const RhJsonNode *node,
                                 const char *prefix);
/* Adds the flags of a command from word `from` on: "--name value", "--name=value" and, where
 * `pairs`, "name=value". */
void rh_launch_settings_add_words(RhLaunchSettings *s, RhJson *doc, const RhShellCommand *command,
                                  guint from, bool pairs);
/* Adds what a Python text assigns or passes by name, where it is a number, a text, True or False:
 * "cfg.model.x = 8", "Args(dim=4096)". */
void rh_launch_settings_add_python(RhLaunchSettings *s, RhJson *doc, const char *text);
/* Returns the last setting of this name; NULL: there is none. */
const RhLaunchSetting *rh_launch_setting_of(const RhLaunchSettings *s, const char *name);
/* RH_ERROR_INPUT with all problems of the documents; true where there are none. */
bool rh_launch_settings_check(RhLaunchSettings *s, GError **error) G_GNUC_WARN_UNUSED_RESULT;
