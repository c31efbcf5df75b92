#pragma once
/* Typed access to GLib's arrays. GArray knows the size of its elements, but not their type. */
#include <glib.h>

/* Pointer to the element at an index. Valid until the array grows. */
#define RH_AT(array, Type, i) (&g_array_index((array), Type, (i)))

/* Pointer to the first of all elements, whose size must be that of the type. Valid until the array
 * grows. */
#define RH_ELEMENTS(array, Type) ((Type *)rh_array_elements((array), sizeof(Type)))

static inline void *rh_array_elements(const GArray *array, gsize size)
{
    g_assert(g_array_get_element_size((GArray *)array) == size);
    return array->data;
}
