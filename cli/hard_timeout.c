#include "cli/hard_timeout.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define GRACE_S    20  /* for what is known to be found and written */
#define GRACE_FRAC 0.1 /* of the time given, besides */
#define MOST_S     1e8

/* Between any two instructions: only calls that are safe there. Files are renamed into place when they
 * are whole, and what we started ends with us. */
static void end_late(int signal_number)
{
    static const char text[] =
        "error: no answer within --timeout\nhelp: more time, or a smaller question\n";
    (void)signal_number;
    ssize_t told = write(STDERR_FILENO, text, strlen(text));
    _exit(told < 0 ? 3 : 1);
}

void rh_hard_timeout_begin(double timeout_s)
{
    if (!(timeout_s > 0))
        return;
    double seconds = fmin(timeout_s * (1 + GRACE_FRAC) + GRACE_S, MOST_S);
    const struct itimerval once = {.it_value = {(time_t)seconds, 0}};
    const struct sigaction act = {.sa_handler = end_late};
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &once, NULL);
}

void rh_hard_timeout_end(void)
{
    const struct itimerval never = {0};
    setitimer(ITIMER_REAL, &never, NULL);
}
