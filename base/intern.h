#pragma once
/* One copy of every text, kept until the program ends: equal texts have equal addresses. In place of g_intern_string(), whose
 * table drops its old self whenever it grows (glib/gquark.c, quark_new()): with a few thousand texts that is a leak.
 *
 *     const char *a = rh_intern("dgx-h100");
 *     a == rh_intern(other)    other says "dgx-h100", too */

/* The one copy of `text`; NULL of NULL. From any thread. */
const char *rh_intern(const char *text);
