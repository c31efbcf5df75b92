#pragma once
/* Expressions on whole numbers, as files of ours hold them: `hidden_size / heads`, `tp * pp <= 64`.
 *
 * Operators are those of C with their precedence: ?: || && == != < <= > >= + - * / % ! and unary -;
 * functions are min(a, b) and max(a, b). Names have letters, digits, '_' and '.'. Results that leave
 * 64 bits stay at the limit, and a division by zero gives 0. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the values of names come from. */
typedef struct {
    /* Gives the value of a name; false: there is none of that name. */
    bool (*value)(const char *name, const void *user, int64_t *value);
    const void *user;
    const char *unknown; /* what is said of a name without a value: "no known field" */
} RhExpressionNames;

/* Evaluates all of `text`. Returns NULL, or what is wrong with it, which the caller frees; *value is
 * then unchanged. */
char *rh_expression_value(const char *text, const RhExpressionNames *names,
                          int64_t *value) G_GNUC_WARN_UNUSED_RESULT;
