#pragma once
/* Interned strings: one copy of every text, kept until the program ends, so equal texts have equal
 * addresses. It replaces g_intern_string(), whose table leaks its old copy whenever it grows
 * (glib/gquark.c, quark_new()).
 *
 *     const char *a = rh_intern("dgx-h100");
 *     a == rh_intern(other)    if `other` is equal */

/* Returns the copy of `text`; NULL for NULL. Thread-safe. */
const char *rh_intern(const char *text);
