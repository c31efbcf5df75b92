#pragma once
/* Forked processes hand their parent the times of collectives that they found, so that no other finds them again. Private
 * to this folder. */
#include "base/pack.h"
#include "strategies/search/screen.h"

/* A forked process remembers what it finds of the time of blocks' collectives, which its parent then learns, so that no
 * other finds it again. The caller frees the bytes. */
void rh_screen_begin_learning(RhScreen *screen);
GByteArray *rh_screen_end_learning(RhScreen *screen);
void rh_screen_learn(RhScreen *screen, RhUnpack *in);
