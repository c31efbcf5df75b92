#pragma once
/* Reads a family file: workloads/families/NAME.json. docs/theory/workload.md has the form. Private to
 * workloads/, and to the fuzz target of this parser. */
#include "base/json/json.h"
#include "workloads/config/family_keys.h"

/* The families of one file: the first is called as the file is, the others are further model types with the same
 * rows. */
typedef struct {
    RhFamily *families;
    int32_t count;
    RhLayerType *layer_types; /* the file's own, ended by one without word; NULL: its parent's */
    const char **rules;       /* likewise, NULL-ended */
    RhVariant *variants;      /* ended by one without key; NULL: none */
} RhFamilyFile;

/* Finds the family that another derives from. NULL and an error where there is none. */
typedef const RhFamily *(*RhFamilyFind)(const char *name, GError **error);

/* Reads the file of family `name`. NULL and RH_ERROR_INPUT, with the place of every problem, where it is wrong.
 * The caller frees it with rh_family_file_free(). */
RhFamilyFile *rh_family_file_read(RhJson *doc, const char *name, RhFamilyFind find,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_family_file_free(RhFamilyFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFamilyFile, rh_family_file_free)
