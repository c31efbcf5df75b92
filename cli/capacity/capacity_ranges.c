#include "cli/capacity/capacity_ranges.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"

#define SIZES_MAX 64
#define GPUS_MAX  (1 << 20) /* of a platform */

static void add_size(GArray *sizes, int64_t size)
{
    guint i = sizes->len;
    while (i > 0 && g_array_index(sizes, int64_t, i - 1) > size)
        i--;
    if (i == 0 || g_array_index(sizes, int64_t, i - 1) != size)
        g_array_insert_val(sizes, i, size);
}

bool rh_capacity_range(const char *option, const char *text, int64_t most_of_all, int64_t *least,
                       int64_t *most, GError **error)
{
    g_auto(GStrv) ends = g_strsplit(text, "..", 2);
    g_autoptr(GError) inner = NULL;
    bool fine = ends[0] && rh_integer_parse(ends[0], 1, most_of_all, least, &inner) &&
                rh_integer_parse(ends[1] ? ends[1] : ends[0], 1, most_of_all, most, &inner);
    if (!fine)
        return rh_fail(error, RH_ERROR_USAGE, "--%s: %s\nhelp: write --%s 256..4096, or a number",
                       option, inner ? inner->message : "nothing is given", option);
    if (*least > *most)
        return rh_fail(error, RH_ERROR_USAGE, "--%s: %s ends below where it begins", option, text);
    return true;
}

bool rh_capacity_sizes(const char *text, GArray *sizes, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    for (char **word = words; *word; word++) {
        int64_t least, most;
        if (!rh_capacity_range("gpus", *word, GPUS_MAX, &least, &most, error))
            return false;
        for (int64_t size = least; size <= most; size *= 2) {
            add_size(sizes, size);
            if (size % 2 == 0 && size / 2 * 3 <= most)
                add_size(sizes, size / 2 * 3);
        }
        add_size(sizes, most);
    }
    if (sizes->len == 0)
        return rh_fail(error, RH_ERROR_USAGE, "--gpus: no number is given");
    if (sizes->len > SIZES_MAX)
        return rh_fail(error, RH_ERROR_USAGE, "--gpus: %u sizes, at most %d", sizes->len,
                       SIZES_MAX);
    return true;
}
