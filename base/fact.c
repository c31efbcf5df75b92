#include "base/fact.h"

static const char *const tag_names[] = {"none", "measured", "fitted", "datasheet", "assumed"};

const char *rh_tag_name(RhTag tag)
{
    return tag_names[tag];
}

char rh_tag_letter(RhTag tag)
{
    return tag == RH_TAG_NONE ? '-' : tag_names[tag][0];
}
