#pragma once
/* Files that stand beside a model's config.json on the Hugging Face hub, for `check`: each says what it
 * is and which command takes what it holds. */
#include "base/json/json.h"

/* Notes of a file that is read: the first line says what it is, the others begin with "note: ". False
 * with an error (RH_ERROR_INPUT) where it is broken. */
typedef bool (*RhHubFileFunc)(RhJson *doc, GString *notes, GError **error);

/* How a file of this kind is described; NULL: it is none. */
RhHubFileFunc rh_hub_file_kind(const RhJsonNode *root);
/* Appends which parts of a multimodal model's file are left out. */
void rh_hub_note_parts(const RhJsonNode *root, GString *notes);
