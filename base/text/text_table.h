#pragma once
/* Aligned text tables with UTF-8 aware widths.
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
/* Renders the table within `width` columns, separating as many of its first columns as needed by
 * one space instead of two; returns false if it is still wider. */
bool rh_table_append_within(RhTable *t, GString *out, const char *indent, glong width);
void rh_table_free(RhTable *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTable, rh_table_free)
