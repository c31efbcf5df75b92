#include "base/fact.h"

#include <string.h>

static const char *const tag_names[] = {"none", "measured", "fitted", "datasheet", "assumed"};

const char *rh_tag_name(RhTag tag)
{
    return tag_names[tag];
}

char rh_tag_letter(RhTag tag)
{
    return tag == RH_TAG_NONE ? '-' : tag_names[tag][0];
}

bool rh_fact_is_users(const RhFact *fact)
{
    return fact->source && strcmp(fact->source, RH_SOURCE_USER) == 0;
}
