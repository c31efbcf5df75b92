#include "validate/coordinate_descent.h"

#include <glib.h>
#include <gsl/gsl_multimin.h>
#include <math.h>

static const double factors[] = {1.6, 1.25, 1.1, 1.04, 1.015};

typedef struct {
    int32_t knob; /* -1: none */
    double value, loss;
} Move;

/* Returns the most helpful move among all knobs, each made larger and smaller. */
static Move best_move(RhDescentKnob *knobs, int32_t count, double factor, double least,
                      RhDescentLoss loss, void *user)
{
    Move best = {-1, 0, least};
    for (int32_t k = 0; k < 2 * count; k++) {
        RhDescentKnob *knob = &knobs[k / 2];
        double before = knob->value,
               value = CLAMP(k % 2 ? before / factor : before * factor, knob->low, knob->high);
        if (value == before) /* at a bound */
            continue;
        knob->value = value;
        double tried = loss(knobs, user);
        knob->value = before;
        if (tried < best.loss)
            best = (Move){k / 2, value, tried};
    }
    return best;
}

typedef struct {
    RhDescentKnob *knobs;
    RhDescentLoss loss;
    void *user;
} Problem;

static double at_logs(const gsl_vector *logs, void *data)
{
    const Problem *p = data;
    for (size_t k = 0; k < logs->size; k++)
        p->knobs[k].value = CLAMP(exp(gsl_vector_get(logs, k)), p->knobs[k].low, p->knobs[k].high);
    return p->loss(p->knobs, p->user);
}

#define SIMPLEX_STEP 0.2 /* in logarithms */
#define SIMPLEX_ENDS 1e-4

/* Follows a valley, in which knobs compensate for each other, by a simplex of their logarithms
 * (Nelder and Mead 1965). */
static void follow_valley(RhDescentKnob *knobs, int32_t count, int32_t moves, Problem *p)
{
    gsl_multimin_function f = {at_logs, (size_t)count, p};
    gsl_vector *logs = gsl_vector_alloc(f.n), *steps = gsl_vector_alloc(f.n);
    gsl_multimin_fminimizer *m =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, f.n);
    for (int32_t k = 0; k < count; k++)
        gsl_vector_set(logs, (size_t)k, log(knobs[k].value));
    gsl_vector_set_all(steps, SIMPLEX_STEP);
    gsl_multimin_fminimizer_set(m, &f, logs, steps);
    for (int32_t i = 0; i < moves && gsl_multimin_fminimizer_iterate(m) == 0; i++)
        if (gsl_multimin_fminimizer_size(m) < SIMPLEX_ENDS)
            break;
    at_logs(gsl_multimin_fminimizer_x(m), p);
    gsl_multimin_fminimizer_free(m);
    gsl_vector_free(logs);
    gsl_vector_free(steps);
}

double rh_descend(RhDescentKnob *knobs, int32_t count, int32_t moves, RhDescentLoss loss,
                  void *user)
{
    double least = loss(knobs, user);
    for (size_t f = 0; f < G_N_ELEMENTS(factors); f++)
        for (int32_t i = 0; i < moves; i++) {
            Move move = best_move(knobs, count, factors[f], least, loss, user);
            if (move.knob < 0)
                break;
            knobs[move.knob].value = move.value;
            least = move.loss;
        }
    Problem problem = {knobs, loss, user};
    follow_valley(knobs, count, 10 * moves, &problem);
    return loss(knobs, user);
}
