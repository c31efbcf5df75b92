#pragma once
/* Random command lines and files against the program; tests/attack/attack.c says how it is judged.
 */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A case draws everything from its own stream, so that it can be run again alone. */
typedef struct {
    uint64_t state;
    const char *binary;
    GPtrArray *found; /* owned texts: what is wrong */
    GString *lines;   /* the commands run, one a line */
} Attack;

uint64_t rh_attack_draw(Attack *a); /* 64 random bits */
uint64_t rh_attack_below(Attack *a, uint64_t count);
bool rh_attack_chance(Attack *a, int percent);
/* One of a NULL-ended list. */
const char *rh_attack_pick(Attack *a, const char *const *list);
#define RH_ATTACK_PICK(a, ...) rh_attack_pick((a), (const char *const[]){__VA_ARGS__, NULL})

typedef struct {
    int status; /* exit status; 128 + number of a signal; -1: did not end in time */
    char *out, *err;
} Answer;
void rh_attack_answer_clear(Answer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, rh_attack_answer_clear)

/* Runs `rehearse WORD...` in the case's folder and judges its end and its texts. */
Answer rh_attack_run(Attack *a, const GPtrArray *words);
/* Runs a command given as one text of words separated by blanks. */
Answer rh_attack_run_line(Attack *a, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Runs a command of which only the exit matters. */
void rh_attack_try(Attack *a, const GPtrArray *words);
void rh_attack_try_line(Attack *a, const char *format, ...) G_GNUC_PRINTF(2, 3);
void rh_attack_found(Attack *a, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The file is not there, or whole. */
void rh_attack_check_json(Attack *a, const char *path);

/* --- the kinds --- */
void rh_attack_words(Attack *a);   /* command lines */
void rh_attack_sets(Attack *a);    /* --set with extremes */
void rh_attack_layouts(Attack *a); /* layouts, one-line platforms */
void rh_attack_files(Attack *a);   /* edited files of every kind */
void rh_attack_tables(Attack *a);  /* tables for calibrate */
void rh_attack_laws(Attack *a);    /* two questions whose answers are related */
void rh_attack_ends(Attack *a);    /* signals and limits amid the work */
/* A quantity, a number or no number at all: what a value may be. */
const char *rh_attack_value(Attack *a);
