/* Walks over the values of a document, which neither consumes them nor finds problems. */
#include <cjson/cJSON.h>

#include "base/json/json.h"

RhJsonKind rh_json_kind(const RhJsonNode *node)
{
    return cJSON_IsObject(node)   ? RH_JSON_OBJECT
           : cJSON_IsArray(node)  ? RH_JSON_ARRAY
           : cJSON_IsString(node) ? RH_JSON_TEXT
           : cJSON_IsNumber(node) ? RH_JSON_NUMBER
           : cJSON_IsTrue(node)   ? RH_JSON_TRUE
           : cJSON_IsFalse(node)  ? RH_JSON_FALSE
                                  : RH_JSON_NULL;
}

const RhJsonNode *rh_json_member(const RhJsonNode *object, const char *key)
{
    return object ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool rh_json_has(const RhJsonNode *object, const char *key)
{
    const cJSON *node = rh_json_member(object, key);
    return node && !cJSON_IsNull(node);
}

const char *rh_json_key(const RhJsonNode *member)
{
    return member->string;
}

int rh_json_count(const RhJsonNode *array)
{
    return array ? cJSON_GetArraySize(array) : 0;
}

const RhJsonNode *rh_json_at(const RhJsonNode *array, int index)
{
    return array ? cJSON_GetArrayItem(array, index) : NULL;
}

const RhJsonNode *rh_json_first(const RhJsonNode *node)
{
    return node ? node->child : NULL;
}

const RhJsonNode *rh_json_next(const RhJsonNode *node)
{
    return node->next;
}
