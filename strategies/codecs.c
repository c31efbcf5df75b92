#include "strategies/codecs.h"

#include <stddef.h>

#define ROW_NAME(constant, object, name, title)  [RH_CODEC_##constant] = name,
#define ROW_TITLE(constant, object, name, title) [RH_CODEC_##constant] = title,

const char *const rh_codec_names[] = {"none", RH_CODECS(ROW_NAME) NULL};
static const char *const titles[RH_CODEC_LAST] = {RH_CODECS(ROW_TITLE)};

const char *rh_codec_title(RhCodecKind kind)
{
    return titles[kind];
}
