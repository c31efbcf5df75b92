#include "platforms/profile.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "platforms/platform_private.h"

#define SCHEMA "rehearse.profile/1"

static void apply_fact(RhJson *doc, const RhJsonNode *facts, const RhJsonNode *node, RhPlatform *p)
{
    RhQuantity kind = RH_QUANTITY_NONE;
    const char *key = rh_json_key(node);
    RhFact *fact = rh_platform_fact(p, key, &kind);
    if (!fact) {
        rh_json_problem_at_key(doc, node, "the paths of --set are known",
                               "no fact of a platform "
                               "is called \"%s\"",
                               key);
        rh_json_consume_all(doc, node);
        return;
    }
    RhFact read = rh_json_fact(doc, facts, key, kind);
    if (read.source)
        *fact = read;
}

bool rh_platform_apply_profile(RhPlatform *p, const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc && rh_platform_apply_profile_json(p, doc, error);
}

bool rh_platform_apply_profile_json(RhPlatform *p, RhJson *doc, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    if (strcmp(rh_json_string(doc, root, "schema"), SCHEMA) != 0)
        rh_json_problem(doc, root, NULL, "not a profile: \"schema\" must be \"%s\"", SCHEMA);
    rh_json_consume(doc, root, "platform");
    rh_json_consume(doc, root, "about");
    const RhJsonNode *quality = rh_json_object_or_null(doc, root, "fit");
    if (quality)
        rh_json_consume_all(doc, quality);
    const RhJsonNode *facts = rh_json_object(doc, root, "facts");
    for (const RhJsonNode *n = facts ? rh_json_first(facts) : NULL; n; n = rh_json_next(n))
        apply_fact(doc, facts, n, p);
    if (!rh_json_finish(doc, error))
        return false;
    rh_platform_hash_add(p, "profile", rh_json_hash(doc));
    rh_device_refresh(p->device);
    return true;
}
