#include "report/pictures/colors.h"

#include <glib.h>

typedef struct {
    const char *light, *dark;
} Pair;

/* Colours of Okabe and Ito's palette and neighbouring shades, which people with colour vision
 * deficiency can distinguish in one picture; the dark variants have the same hue, lighter where
 * necessary. */
static const Pair rows[RH_COLOR_LAST] = {
    [RH_COLOR_FORWARD] = {"#0072b2", "#3d9be0"},
    [RH_COLOR_BACKWARD] = {"#009e73", "#22a880"},
    [RH_COLOR_RECOMPUTE] = {"#56b4e9", "#9ad4f7"},
    [RH_COLOR_OPTIMIZER] = {"#8a8a00", "#a8a81e"},
    [RH_COLOR_DECODE] = {"#4b3aa8", "#8f84e0"},
    [RH_COLOR_TENSOR] = {"#e69f00", "#e69f00"},
    [RH_COLOR_CONTEXT] = {"#c9b000", "#d6c024"},
    [RH_COLOR_EXPERT] = {"#9467bd", "#b08ad6"},
    [RH_COLOR_DATA] = {"#d55e00", "#e87722"},
    [RH_COLOR_TRANSFER] = {"#cc79a7", "#d98fb8"},
    [RH_COLOR_IDLE] = {"#a0a8b1", "#6c7681"},
    [RH_COLOR_SLOWER] = {"#e8a08c", "#e8a08c"},
    [RH_COLOR_LOST] = {"#882255", "#b8447f"},
    [RH_COLOR_OTHER] = {"#5b636c", "#8d96a0"},
    [RH_COLOR_WEIGHTS] = {"#3f4f73", "#7f93c2"},
    [RH_COLOR_LOGITS] = {"#b07d48", "#c4935e"},
    [RH_COLOR_BUFFERS] = {"#f2c879", "#f2c879"},
    [RH_COLOR_RESERVE] = {"#c8ccd2", "#4a525b"},
    [RH_COLOR_CACHE] = {"#2a7f8e", "#58b6c6"},
    [RH_COLOR_LOAD] = {"#4477aa", "#6f9fd0"},
    [RH_COLOR_CHOSEN] = {"#0059a8", "#4aa3ec"},
    [RH_COLOR_FULLER] = {"#bb5500", "#e08a3c"},
    [RH_COLOR_UNFIT] = {"#b0307a", "#d673ac"},
    [RH_COLOR_SEEN] = {"#a0a8b1", "#6c7681"},
    [RH_COLOR_SERIES] = {"#332288", "#9083e8"},
    {"#cc3311", "#ee6a4c"},
    {"#117733", "#4ab070"},
    {"#aa7700", "#ddb03c"},
    {"#882299", "#c27ad0"},
    {"#007788", "#3cb0c0"},
    {"#777700", "#b5b53c"},
    {"#555555", "#a5a5a5"},
};

RhColor rh_color_series(int i)
{
    return (RhColor)(RH_COLOR_SERIES + MIN(i, RH_COLOR_SERIES_COUNT - 1));
}

const char *rh_color_light(RhColor color)
{
    return rows[color].light;
}

const char *rh_color_dark(RhColor color)
{
    return rows[color].dark;
}
