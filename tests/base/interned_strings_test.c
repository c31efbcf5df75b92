/* Interned texts: equal texts have one address, from every thread, and no number of them is a leak (AddressSanitizer's to say). */
#include <glib.h>

#include "base/interned_strings.h"
#include "tests/kit/testkit.h"

#define TEXTS 5000 /* more than two of GLib's tables of 2,048 hold */

static gpointer intern_all(gpointer out)
{
    const char **kept = out;
    for (int i = 0; i < TEXTS; i++) {
        g_autofree char *text = g_strdup_printf("text %d", i);
        kept[i] = rh_intern(text);
    }
    return NULL;
}

static void equal_texts_have_one_address(void)
{
    static const char *mine[TEXTS], *theirs[TEXTS];
    GThread *other = g_thread_new("other", intern_all, theirs);
    intern_all(mine);
    g_thread_join(other);
    for (int i = 0; i < TEXTS; i++) {
        g_autofree char *text = g_strdup_printf("text %d", i);
        CU_ASSERT_PTR_EQUAL(mine[i], theirs[i]);
        CU_ASSERT_STRING_EQUAL(mine[i], text);
    }
    CU_ASSERT_PTR_NULL(rh_intern(NULL));
    CU_ASSERT_STRING_EQUAL(rh_intern(""), "");
}

int main(void)
{
    return rh_test_main(
        "intern", (RhTest[]){{"equal_texts_have_one_address", equal_texts_have_one_address}, {0}});
}
