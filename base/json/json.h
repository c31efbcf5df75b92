#pragma once
/* Strict JSON reader with positions (over cJSON), and a writer.
 *
 * It refuses trailing text, duplicate keys, numbers that are too large, nesting over 64, and files
 * over 64 MiB or four million values. It allows // and slash-star comments, and NaN and Infinity,
 * which are refused where a number is read. Getters *consume* keys; rh_json_finish() rejects the
 * remaining ones, with the nearest known key as help. Problems are collected, so one run reports up
 * to 20 of them, each as
 *
 *     error: unknown key "bandwith" in links.ib
 *       --> platforms/mine.json:14:7
 *        |
 *     14 |       "bandwith": "400Gb/s",
 *        |       ^^^^^^^^^^
 *        = help: a key with a similar name exists: "bandwidth"
 *
 *     g_autoptr(RhJson) doc = rh_json_load("node.json", error);
 *     const RhJsonNode *root = rh_json_root(doc);
 *     int64_t gpus = rh_json_int(doc, root, "gpus_per_node", 1, 1024);
 *     if (!rh_json_finish(doc, error)) return NULL; */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fact.h"
#include "base/units.h"

typedef struct RhJson RhJson;
typedef struct cJSON RhJsonNode;

/* Parses a file. Returns NULL with RH_ERROR_IO or RH_ERROR_INPUT (with file:line:col) on failure.
 */
RhJson *rh_json_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Parses a file of a format without "schema", such as a model: a file that this program wrote, such
 * as an answer, is refused with an error that it is no `what` ("model"). */
RhJson *rh_json_load_described(const char *path, const char *what,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhJson *rh_json_parse(const char *name, const char *text, size_t length,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_json_free(RhJson *doc);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhJson, rh_json_free)

typedef enum {
    RH_JSON_NULL,
    RH_JSON_FALSE,
    RH_JSON_TRUE,
    RH_JSON_NUMBER,
    RH_JSON_TEXT,
    RH_JSON_ARRAY,
    RH_JSON_OBJECT,
} RhJsonKind;
const RhJsonNode *rh_json_root(const RhJson *doc);
RhJsonKind rh_json_kind(const RhJsonNode *node);
const char *rh_json_name(const RhJson *doc);
/* Returns the SHA-256 of the text as read, in hex; owned by the document. */
const char *rh_json_hash(const RhJson *doc);

/* Getters. A missing required key, a wrong type or a value out of range becomes a collected
 * problem, and the getter returns a harmless value (0, "", the low bound, NULL for objects), so
 * callers check once, at rh_json_finish(). The *_or forms take a default for a missing key (null
 * counts as missing). Strings are interned and safe to print (rh_text_is_plain). */
bool rh_json_has(const RhJsonNode *object,
                 const char *key); /* present and not null; does not consume */
const char *rh_json_string(RhJson *doc, const RhJsonNode *object, const char *key);
/* Reads a string; an empty one is a problem. */
const char *rh_json_word(RhJson *doc, const RhJsonNode *object, const char *key);
const char *rh_json_string_or(RhJson *doc, const RhJsonNode *object, const char *key,
                              const char *otherwise);
int64_t rh_json_int(RhJson *doc, const RhJsonNode *object, const char *key, int64_t low,
                    int64_t high);
int64_t rh_json_int_or(RhJson *doc, const RhJsonNode *object, const char *key, int64_t low,
                       int64_t high, int64_t otherwise);
double rh_json_number(RhJson *doc, const RhJsonNode *object, const char *key, double low,
                      double high);
double rh_json_number_or(RhJson *doc, const RhJsonNode *object, const char *key, double low,
                         double high, double otherwise);
bool rh_json_bool_or(RhJson *doc, const RhJsonNode *object, const char *key, bool otherwise);
/* Reads a quantity, in string form such as "400Gb/s" (COUNT and FRAC also take bare numbers). */
double rh_json_quantity(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind);
double rh_json_quantity_or(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind,
                           double otherwise);
/* Reads a fact: {"value": "3.35TB/s", "tag": "datasheet", "source": "...", "date": "2023-03"}. */
RhFact rh_json_fact(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind);
/* Reads a fact; a value outside the range is a problem. */
RhFact rh_json_fact_within(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind,
                           const RhRange *range);
const RhJsonNode *rh_json_object(RhJson *doc, const RhJsonNode *object,
                                 const char *key); /* NULL + problem when missing */
const RhJsonNode *rh_json_object_or_null(RhJson *doc, const RhJsonNode *object, const char *key);
const RhJsonNode *rh_json_array(RhJson *doc, const RhJsonNode *object,
                                const char *key); /* NULL + problem when missing */
const RhJsonNode *rh_json_array_or_null(RhJson *doc, const RhJsonNode *object, const char *key);
int rh_json_count(const RhJsonNode *array); /* 0 for NULL */
const RhJsonNode *rh_json_at(const RhJsonNode *array,
                             int index); /* element, borrowed; arrays are O(n): prefer next */
const RhJsonNode *
rh_json_first(const RhJsonNode *container); /* iterate children (array or object) */
const RhJsonNode *rh_json_next(const RhJsonNode *node);
/* Returns a member of an object, also if it is null; NULL when there is none. Does not consume. */
const RhJsonNode *rh_json_member(const RhJsonNode *object, const char *key);
const char *rh_json_key(const RhJsonNode *member); /* key of an object's member */
/* Read the value of a scalar node, with the same rules for problems. */
double rh_json_node_number(RhJson *doc, const RhJsonNode *node, double low, double high);
int64_t rh_json_node_int(RhJson *doc, const RhJsonNode *node, int64_t low, int64_t high);
const char *rh_json_node_string(RhJson *doc, const RhJsonNode *node);
/* Returns a string owned by the document instead of interned, for long texts that are read once. */
const char *rh_json_node_text(RhJson *doc, const RhJsonNode *node);
bool rh_json_node_bool(RhJson *doc, const RhJsonNode *node);
/* Marks everything below `node` as consumed, for files of others, such as Hugging Face
 * configurations with many unused keys. */
void rh_json_consume_all(RhJson *doc, const RhJsonNode *node);
void rh_json_consume(RhJson *doc, const RhJsonNode *object, const char *key);
/* Records a problem at `node`; `help` may be NULL. */
void rh_json_problem(RhJson *doc, const RhJsonNode *node, const char *help, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Records the message of `why`, which is freed, as a problem at the object's member `key` (at the
 * object when it has none). */
void rh_json_problem_of(RhJson *doc, const RhJsonNode *object, const char *key, GError *why);
/* Records a problem that underlines the member's key instead of its value. */
void rh_json_problem_at_key(RhJson *doc, const RhJsonNode *member, const char *help,
                            const char *format, ...) G_GNUC_PRINTF(4, 5);
/* Returns the number of problems so far, to tell whether a read caused one. */
guint rh_json_problems_count(const RhJson *doc);
/* Fails with RH_ERROR_INPUT and all problems as text when there was any problem or unconsumed key.
 */
bool rh_json_finish(RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Fails with the problems of a document that has some. */
void rh_json_refuse(RhJson *doc, GError **error);

/* Streaming writer with stable formatting (2-space indent, numbers with 9 significant digits,
 * locale-free). Non-finite numbers are a programming error. */
typedef struct RhJsonWriter RhJsonWriter;
RhJsonWriter *rh_json_writer_new(bool pretty);
void rh_json_writer_free(RhJsonWriter *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhJsonWriter, rh_json_writer_free)
/* `key` is NULL inside arrays and at the top. */
void rh_json_begin_object(RhJsonWriter *w, const char *key);
void rh_json_end_object(RhJsonWriter *w);
void rh_json_begin_array(RhJsonWriter *w, const char *key);
void rh_json_end_array(RhJsonWriter *w);
void rh_json_put_string(RhJsonWriter *w, const char *key, const char *value); /* NULL writes null */
void rh_json_put_number(RhJsonWriter *w, const char *key, double value);
/* Writes a finite number into `text` as rh_json_put_number does, and returns it: whole numbers below
 * 1e15 with all digits, others with nine. */
const char *rh_json_number_text(double value, char text[G_ASCII_DTOSTR_BUF_SIZE]);
/* Writes a number that reads back exactly, with 17 significant digits where needed. */
void rh_json_put_exact(RhJsonWriter *w, const char *key, double value);
void rh_json_put_int(RhJsonWriter *w, const char *key, int64_t value);
void rh_json_put_bool(RhJsonWriter *w, const char *key, bool value);
void rh_json_put_null(RhJsonWriter *w, const char *key);
char *rh_json_writer_steal(RhJsonWriter *w); /* the text, ends in a newline; caller frees */

/* Writes a file atomically, also through symbolic links, whose targets need not exist yet. A killed
 * process leaves nothing, or ".NAME.rehearse-part", which the next write of NAME removes.
 * RH_ERROR_IO. */
bool rh_file_write(const char *path, const char *text, size_t length,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
