#pragma once
/* Aligned text tables of at most 80 columns by habit. UTF-8 aware widths.
 *
 *     RhTable *t = rh_table_new("<>>");       one letter per column: '<' left, '>' right
 *     rh_table_rowf(t, "layout|step s|GiB");
 *     rh_table_rowf(t, "%s|%.1f|%.1f", name, s, gib);    cells split at '|', missing ones empty */
#include <glib.h>
#include <stdbool.h>

typedef struct RhTable RhTable;
RhTable *rh_table_new(const char *alignment);
void rh_table_rowf(RhTable *t, const char *format, ...) G_GNUC_PRINTF(2, 3);
void rh_table_append(RhTable *t, GString *out,
                     const char *indent); /* renders with two spaces between columns */
/* The same within `width` columns, if one space between the first of its columns makes it so; false: it is
 * wider all the same. */
bool rh_table_append_within(RhTable *t, GString *out, const char *indent, glong width);
void rh_table_free(RhTable *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTable, rh_table_free)
