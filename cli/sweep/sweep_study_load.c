#include "cli/sweep/sweep_study_load.h"

#include <string.h>

#include "cli/sweep/sweepable_commands.h"

void rh_sweep_study_clear(RhSweepStudy *s)
{
    g_free(s->folder);
    rh_study_free(s->study);
}

bool rh_sweep_study_load(RhSweepStudy *s, const char *path, GError **error)
{
    RhStudyRules rules = rh_sweep_rules();
    g_autofree char *stem = g_str_has_suffix(path, ".json")
                                ? g_strndup(path, strlen(path) - strlen(".json"))
                                : g_strdup(path);
    s->path = path;
    s->folder = s->a->folder ? g_strdup(s->a->folder) : g_strconcat(stem, ".sweep", NULL);
    s->study = rh_study_load(path, &rules, error);
    return s->study != NULL;
}
