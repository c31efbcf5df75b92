#pragma once
/* The constants of a server that published rows determine, and the loss of rows by them.
 *
 * A row's loss is |ln(predicted / measured)| of its time per token or, where it gives none, of its
 * tokens a second, and half of that of its time to the first token. */
#include "validate/coordinate_descent.h"
#include "validate/serving/served_translate.h"

#define RH_SERVED_CONSTANTS_MAX 8

/* Metrics that a row may have. */
typedef enum { RH_SERVED_TPOT, RH_SERVED_TTFT, RH_SERVED_RATE, RH_SERVED_METRICS } RhServedMetric;

/* Rows without which a constant is not fitted: none, rows with several tensor ranks, rows with times
 * to the first token; or it is fitted where the server has it. */
typedef enum {
    RH_FITTED_ALWAYS,
    RH_FITTED_WITH_RANKS,
    RH_FITTED_WITH_TTFT,
    RH_FITTED_WHERE_SET
} RhFitCondition;

typedef struct {
    const char *key;         /* of the server's file */
    size_t offset;           /* of the RhFact in RhServer */
    double low, high, begin; /* seconds, or a fraction of a rate */
    bool fraction;
    RhFitCondition condition;
} RhServedConstantKind;
extern const RhServedConstantKind rh_served_constant_kinds[];
size_t rh_served_constant_kinds_count(void);
RhFact *rh_served_constant(RhServer *server, size_t kind);

/* A row that is simulated repeatedly by a server of its own, whose constants change; its service
 * keeps the times of kernels. */
typedef struct {
    RhServedCase c; /* its server is `server` */
    RhServer server;
    RhService *service;
    RhRequests *requests;
    double measured[RH_SERVED_METRICS]; /* s, s, tokens/s; 0: not given */
    double predicted[RH_SERVED_METRICS];
    double weight; /* in the loss */
    bool held_out;
} RhServedRow;

/* Makes a row, which takes *c over; NULL where it cannot be served, and *c is cleared. */
RhServedRow *rh_served_row_new(RhServedCase *c, const RhCaseRow *row);
void rh_served_row_free(RhServedRow *row);
bool rh_served_row_simulate(RhServedRow *row);
/* Returns the loss of a row by its measured metrics and predictions of them (RH_SERVED_METRICS each; 0:
 * not given). */
double rh_served_row_loss(const double *measured, const double *predicted);

/* Fills knobs[] (room for RH_SERVED_CONSTANTS_MAX) with the constants that these rows (RhServedRow*)
 * determine, from the values of `server`; kind_of[] has their kinds. Returns their number. */
int32_t rh_served_knobs(const GPtrArray *rows, RhServer *server, RhDescentKnob *knobs,
                        size_t *kind_of);
/* Sets the constants of all rows' servers. */
void rh_served_set_constants(const GPtrArray *rows, const RhDescentKnob *knobs,
                             const size_t *kind_of, int32_t count);
/* Returns the weighted mean loss of the rows that are not held out; INFINITY where one cannot be
 * simulated. */
double rh_served_loss(const GPtrArray *rows);
