/* attack [--case N] REHEARSE: hostile runs, drawn from a seed, for a while.
 *
 *   REHEARSE_ATTACK_S      seconds (45); ten minutes by hand: 600
 *   REHEARSE_ATTACK_SEED   of the first case (1)
 *   REHEARSE_ATTACK_ALL    print every case
 *
 * A run must end by itself, with a status of the contract (0, 1, 2, 3), without a word of a bug, of
 * a sanitizer, or a control character; its files are whole or not there. What falls short is
 * printed with its case, seed and command lines, and `attack --case N REHEARSE` runs that case
 * again. */
#include "tests/attack/attack.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "base/json/json.h"

#define SECONDS_OTHERWISE 45
#define PATIENCE_S        120 /* sanitizers are slow */
#define MEMORY_MOST       (6ULL << 30)
#define SHOWN_BYTES       1500

static const struct {
    const char *name;
    void (*run)(Attack *a);
    int weight;
} kinds[] = {
    {"words", rh_attack_words, 6},     {"sets", rh_attack_sets, 4},
    {"layouts", rh_attack_layouts, 4}, {"files", rh_attack_files, 6},
    {"tables", rh_attack_tables, 2},   {"laws", rh_attack_laws, 2},
    {"ends", rh_attack_ends, 2},
};

/* --- drawing: splitmix64 (Steele, Lea, Flood 2014) --- */

uint64_t rh_attack_draw(Attack *a)
{
    uint64_t z = a->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rh_attack_below(Attack *a, uint64_t count)
{
    return count ? rh_attack_draw(a) % count : 0;
}

bool rh_attack_chance(Attack *a, int percent)
{
    return rh_attack_below(a, 100) < (uint64_t)percent;
}

const char *rh_attack_pick(Attack *a, const char *const *list)
{
    return list[rh_attack_below(a, g_strv_length((char **)list))];
}

/* --- running --- */

void rh_attack_answer_clear(Answer *answer)
{
    g_clear_pointer(&answer->out, g_free);
    g_clear_pointer(&answer->err, g_free);
}

void rh_attack_found(Attack *a, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_ptr_array_add(a->found, g_strdup_vprintf(format, values));
    va_end(values);
}

static void judge_text(Attack *a, const char *stream, const char *text)
{
    static const char *const words[] = {"this is a bug",
                                        "AddressSanitizer",
                                        "runtime error:",
                                        "CRITICAL",
                                        "LeakSanitizer",
                                        "(null)",
                                        NULL};
    for (const char *const *word = words; *word; word++)
        if (strstr(text, *word))
            rh_attack_found(a, "%s says \"%s\": %.*s", stream, *word, SHOWN_BYTES, text);
    if (strcmp(stream, "stdout") == 0 && (strstr(text, " nan") || strstr(text, "-nan")))
        rh_attack_found(a, "%s holds a number that is none: %.*s", stream, SHOWN_BYTES, text);
    if (!g_utf8_validate(text, -1, NULL))
        rh_attack_found(a, "%s is not UTF-8", stream);
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f) {
            rh_attack_found(a, "%s holds control character %d: %.*s", stream, *c, SHOWN_BYTES,
                            text);
            return;
        }
}

static void judge(Attack *a, const Answer *answer)
{
    if (answer->status < 0)
        rh_attack_found(a, "no end within %d s", PATIENCE_S);
    else if (answer->status > 3)
        rh_attack_found(a, "exit status %d: %.*s", answer->status, SHOWN_BYTES, answer->err);
    judge_text(a, "stdout", answer->out);
    judge_text(a, "stderr", answer->err);
    if (answer->status >= 1 && answer->status <= 3 && !*answer->err && !*answer->out)
        rh_attack_found(a, "exit status %d without a word", answer->status);
}

Answer rh_attack_run(Attack *a, const GPtrArray *words)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    Answer answer = {-1, NULL, NULL};
    int status = 0;
    g_string_append(a->lines, "  rehearse");
    g_ptr_array_add(argv, (char *)a->binary);
    for (guint i = 0; i < words->len; i++) {
        g_autofree char *quoted = g_shell_quote(g_ptr_array_index(words, i));
        g_string_append_printf(a->lines, " %s", quoted);
        g_ptr_array_add(argv, g_ptr_array_index(words, i));
    }
    g_ptr_array_add(argv, NULL);
    if (rh_child_run((const char *const *)argv->pdata, PATIENCE_S, &answer.out, &answer.err,
                     &status, &error))
        answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    else if (!g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER))
        rh_attack_found(a, "%s", error->message);
    answer.out = answer.out ? answer.out : g_strdup("");
    answer.err = answer.err ? answer.err : g_strdup("");
    g_string_append_printf(a->lines, "  # %d\n", answer.status);
    judge(a, &answer);
    return answer;
}

G_GNUC_PRINTF(2, 0)
static Answer run_line(Attack *a, const char *format, va_list values)
{
    g_autofree char *line = g_strdup_vprintf(format, values);
    g_auto(GStrv) words = g_strsplit_set(line, " ", -1);
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    for (char **word = words; *word; word++)
        if (**word)
            g_ptr_array_add(list, *word);
    return rh_attack_run(a, list);
}

Answer rh_attack_run_line(Attack *a, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    Answer answer = run_line(a, format, values);
    va_end(values);
    return answer;
}

void rh_attack_try(Attack *a, const GPtrArray *words)
{
    Answer answer = rh_attack_run(a, words);
    rh_attack_answer_clear(&answer);
}

void rh_attack_try_line(Attack *a, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    Answer answer = run_line(a, format, values);
    va_end(values);
    rh_attack_answer_clear(&answer);
}

void rh_attack_check_json(Attack *a, const char *path)
{
    g_autoptr(GError) error = NULL;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return;
    g_autoptr(RhJson) doc = rh_json_load(path, &error);
    if (!doc)
        rh_attack_found(a, "%s is torn: %s", path, error->message);
}

/* --- cases --- */

static int kind_of(uint64_t number)
{
    int sum = 0, at;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        sum += kinds[i].weight;
    at = (int)(number % (uint64_t)sum);
    for (size_t i = 0;; i++)
        if ((at -= kinds[i].weight) < 0)
            return (int)i;
}

/* Runs one case; returns true if nothing was found. */
static bool run_case(uint64_t number, uint64_t seed, const char *binary, bool aloud)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autofree char *folder = rh_temp_folder("rehearse-attack-XXXXXX", NULL);
    Attack a = {seed * 0x2545f4914f6cdd1du + number, binary, found, lines};
    int kind = kind_of(number);
    if (!folder || chdir(folder) != 0)
        return false;
    kinds[kind].run(&a);
    if (chdir("/") == 0)
        rh_temp_remove(folder);
    for (guint i = 0; i < found->len; i++)
        printf("FOUND case %" G_GUINT64_FORMAT " (%s, seed %" G_GUINT64_FORMAT "): %s\n%s", number,
               kinds[kind].name, seed, (char *)g_ptr_array_index(found, i), lines->str);
    if (aloud && found->len == 0)
        printf("case %" G_GUINT64_FORMAT " (%s)\n%s", number, kinds[kind].name, lines->str);
    fflush(stdout);
    return found->len == 0;
}

static int run_cases(uint64_t seed, double seconds, const char *binary)
{
    int64_t t_end_us = g_get_monotonic_time() + (int64_t)(1e6 * seconds);
    uint64_t number = 0;
    int wrong = 0;
    for (; g_get_monotonic_time() < t_end_us; number++)
        wrong += !run_case(number, seed, binary, g_getenv("REHEARSE_ATTACK_ALL") != NULL);
    printf("attack: %" G_GUINT64_FORMAT " cases of seed %" G_GUINT64_FORMAT ", %d of them wrong\n",
           number, seed, wrong);
    return wrong > 0;
}

/* A program that wants the machine's memory shall not get it; sanitizers reserve more than there
 * is. */
static void limit_memory(const char *binary)
{
    const char *const argv[] = {binary, "--version", NULL};
    struct rlimit old, limit = {MEMORY_MOST, MEMORY_MOST};
    g_autofree char *out = NULL;
    int status = 0;
    getrlimit(RLIMIT_AS, &old);
    limit.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
    g_autofree char *err = NULL;
    if (!rh_child_run(argv, PATIENCE_S, &out, &err, &status, NULL) || status != 0)
        setrlimit(RLIMIT_AS, &old);
}

static uint64_t number_of(const char *text, uint64_t otherwise)
{
    return text && *text ? g_ascii_strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    bool one = argc == 4 && strcmp(argv[1], "--case") == 0;
    if (argc != 2 && !one) {
        fprintf(stderr, "usage: attack [--case N] REHEARSE\n");
        return 2;
    }
    g_autofree char *binary = g_canonicalize_filename(argv[argc - 1], NULL);
    uint64_t seed = number_of(g_getenv("REHEARSE_ATTACK_SEED"), 1);
    const char *seconds = g_getenv("REHEARSE_ATTACK_S");
    g_setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=0:allocator_may_return_null=1", FALSE);
    g_setenv("UBSAN_OPTIONS", "halt_on_error=1:exitcode=99:print_stacktrace=1", FALSE);
    limit_memory(binary);
    int status =
        one ? !run_case(number_of(argv[2], 0), seed, binary, true)
            : run_cases(seed,
                        seconds && *seconds ? g_ascii_strtod(seconds, NULL) : SECONDS_OTHERWISE,
                        binary);
    rh_supervisor_end();
    return status;
}
