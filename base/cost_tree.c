#include "base/cost_tree.h"

#include <math.h>
#include <string.h>

#include "base/interned_strings.h"

RhCost *rh_cost_new(const char *name, double value_s, const char *source)
{
    RhCost *cost = g_new0(RhCost, 1);
    cost->name = rh_intern(name);
    cost->value_s = value_s;
    cost->source = rh_intern(source ? source : "");
    cost->children = g_ptr_array_new_with_free_func((GDestroyNotify)rh_cost_free);
    return cost;
}

RhCost *rh_cost_add(RhCost *parent, const char *name, double value_s, const char *source)
{
    RhCost *child = rh_cost_new(name, value_s, source);
    g_ptr_array_add(parent->children, child);
    return child;
}

const RhCost *rh_cost_find(const RhCost *root, const char *name)
{
    if (strcmp(root->name, name) == 0)
        return root;
    for (guint i = 0; i < root->children->len; i++) {
        const RhCost *found = rh_cost_find(root->children->pdata[i], name);
        if (found)
            return found;
    }
    return NULL;
}

RhCost *rh_cost_scaled(const RhCost *root, double factor)
{
    RhCost *copy = rh_cost_new(root->name, root->value_s * factor, root->source);
    for (guint i = 0; i < root->children->len; i++)
        g_ptr_array_add(copy->children, rh_cost_scaled(root->children->pdata[i], factor));
    return copy;
}

RhCost *rh_cost_copy(const RhCost *root)
{
    return rh_cost_scaled(root, 1);
}

void rh_cost_pack(GByteArray *out, const RhCost *root)
{
    rh_pack_text(out, root->name);
    rh_pack_text(out, root->source);
    rh_pack(out, &root->value_s, sizeof root->value_s);
    rh_pack(out, &root->children->len, sizeof root->children->len);
    for (guint i = 0; i < root->children->len; i++)
        rh_cost_pack(out, root->children->pdata[i]);
}

RhCost *rh_cost_unpack(RhUnpack *in)
{
    g_autofree char *name = rh_unpack_text(in), *source = rh_unpack_text(in);
    double value_s;
    guint count;
    rh_unpack(in, &value_s, sizeof value_s);
    rh_unpack(in, &count, sizeof count);
    if (!name || !source || !in->whole)
        return NULL;
    g_autoptr(RhCost) cost = rh_cost_new(name, value_s, source);
    for (guint i = 0; i < count; i++) {
        RhCost *child = rh_cost_unpack(in);
        if (!child)
            return NULL;
        g_ptr_array_add(cost->children, child);
    }
    return g_steal_pointer(&cost);
}

bool rh_cost_check(const RhCost *root, double tolerance_frac)
{
    double sum = 0;
    for (guint i = 0; i < root->children->len; i++) {
        const RhCost *child = root->children->pdata[i];
        if (!rh_cost_check(child, tolerance_frac))
            return false;
        sum += child->value_s;
    }
    return root->children->len == 0 ||
           fabs(sum - root->value_s) <= tolerance_frac * fmax(fabs(root->value_s), fabs(sum));
}

void rh_cost_free(RhCost *root)
{
    if (!root)
        return;
    g_ptr_array_unref(root->children);
    g_free(root);
}
