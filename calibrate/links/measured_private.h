#pragma once
/* Declarations shared by the files of single formats. Private to measured*.c. */
#include "calibrate/links/measured.h"

typedef struct {
    const char *name; /* name for messages */
    bool (*begins)(const char *text);
    /* Fills rows, notes, device and library. */
    bool (*read)(RhMeasured *out, const char *text, GError **error);
} RhMeasuredFormat;

extern const RhMeasuredFormat rh_format_nccl_tests, rh_format_tables, rh_format_osu,
    rh_format_nvbandwidth, rh_format_nvbandwidth_json, rh_format_peers, rh_format_perftest;

/* A word of a line. */
typedef struct {
    const char *text; /* in a copy that its owner keeps; ended */
    int32_t column;   /* in bytes, from 1 */
} RhWord;

/* A line, and the words of it that are not what a launcher put before it: mpirun's
 * "[1,0]<stdout>:", srun's "0: ", pdsh's "host: ". */
typedef struct {
    const char *file;
    int32_t number, length;
    char *copy;
    GArray *words; /* RhWord */
} RhLine;

/* `line` ends at its end of line; clear it. */
RhLine rh_line_new(const char *file, int32_t number, const char *line);
void rh_line_clear(RhLine *line);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhLine, rh_line_clear)
/* The text of word `i`; "" behind the last one or before the first. */
const char *rh_line_word(const RhLine *line, int32_t i);
/* Place of the first word that is this one from `from` on; -1. */
int32_t rh_line_find(const RhLine *line, int32_t from, const char *word);
/* RH_ERROR_INPUT, "file:line:col: "word" WHAT"; false. */
bool rh_line_fail(const RhLine *line, int32_t word, const char *what, GError **error);
/* A finite number of [low, high]. */
bool rh_line_number(const RhLine *line, int32_t word, double low, double high, double *out,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Is the word a whole decimal number? */
bool rh_line_is_whole(const RhLine *line, int32_t word);

G_GNUC_PRINTF(2, 3) void rh_measured_note(RhMeasured *out, const char *format, ...);
void rh_measured_rate(RhMeasured *out, RhRateKind kind, double bytes_per_s, double bytes);

/* Reads a line of a log; false when it is wrong, which has been said. */
typedef bool (*RhLineFunc)(void *reading, const RhLine *line);
/* All lines of the text; false at the first one that is wrong. */
bool rh_measured_lines(RhMeasured *out, const char *text, RhLineFunc read_line, void *reading);
