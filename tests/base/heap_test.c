/* Heaps: the least element leaves first, whatever is pushed and removed in between; followed
 * elements are where they were said to be. */
#include "base/heap.h"
#include "tests/kit/testkit.h"

typedef struct {
    int32_t key, number;
} Item;

static inline bool is_less(const Item *a, const Item *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

RH_HEAP(item_heap, Item, is_less)

static int by_order(gconstpointer x, gconstpointer y)
{
    return is_less(x, y) ? -1 : is_less(y, x);
}

static void the_least_leaves_first(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(Item));
    g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(Item));
    for (int32_t i = 0; i < 2000; i++) {
        Item item = {g_rand_int_range(random, 0, 100), i};
        item_heap_push(heap, item);
        g_array_append_val(sorted, item);
        g_array_sort(sorted, by_order);
        if (g_rand_int_range(random, 0, 3) > 0)
            continue;
        Item taken = item_heap_remove(heap, 0);
        CU_ASSERT_EQUAL(taken.number, g_array_index(sorted, Item, 0).number);
        g_array_remove_index(sorted, 0);
    }
    CU_ASSERT_EQUAL(heap->len, sorted->len);
    for (guint i = 0; i < sorted->len; i++)
        CU_ASSERT_EQUAL(item_heap_remove(heap, 0).number, g_array_index(sorted, Item, i).number);
    CU_ASSERT_EQUAL(heap->len, 0);
}

static void order_holds_when_any_is_removed(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(Item));
    for (int32_t i = 0; i < 500; i++)
        item_heap_push(heap, (Item){g_rand_int_range(random, 0, 1000), i});
    while (heap->len > 0) {
        guint at = (guint)g_rand_int_range(random, 0, (gint32)heap->len);
        int32_t number = g_array_index(heap, Item, at).number;
        CU_ASSERT_EQUAL(item_heap_remove(heap, at).number, number);
        for (guint i = 1; i < heap->len; i++)
            CU_ASSERT_FALSE(
                is_less(&g_array_index(heap, Item, i), &g_array_index(heap, Item, (i - 1) / 2)));
    }
}

/* --- followed elements --- */

#define SLOTS 300

typedef struct {
    Item heap[SLOTS];
    guint count, place[SLOTS]; /* by number */
} Followed;

static inline void note(Followed *f, const Item *item, guint at)
{
    f->place[item->number] = at;
}

RH_HEAP_SIFT(followed, Item, Followed, is_less, note)

static void moved_elements_are_found(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autofree Followed *f = g_new0(Followed, 1);
    for (int32_t i = 0; i < SLOTS; i++)
        followed_rise(f, f->heap, f->count++, (Item){g_rand_int_range(random, 0, 1000), i});
    for (int round = 0; round < 3000; round++) {
        int32_t number = g_rand_int_range(random, 0, SLOTS);
        Item changed = {g_rand_int_range(random, 0, 1000), number};
        followed_fill(f, f->heap, f->count, f->place[number], changed);
        bool right = f->heap[f->place[number]].key == changed.key;
        for (guint i = 0; i < f->count; i++)
            right = right && f->place[f->heap[i].number] == i &&
                    (i == 0 || !is_less(&f->heap[i], &f->heap[(i - 1) / 2]));
        CU_ASSERT_TRUE_FATAL(right);
    }
}

int main(void)
{
    return rh_test_main(
        "heap", (RhTest[]){{"the_least_leaves_first", the_least_leaves_first},
                           {"order_holds_when_any_is_removed", order_holds_when_any_is_removed},
                           {"moved_elements_are_found", moved_elements_are_found},
                           {0}});
}
