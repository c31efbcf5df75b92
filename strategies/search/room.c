#include "strategies/search/room.h"

#include <math.h>

RhRoom rh_room(const RhCase *c, const RhConstraint *constraints, int32_t count)
{
    double capacity = rh_train_memory_capacity(c), most = capacity;
    bool limited = false;
    for (int32_t i = 0; i < count; i++)
        if (!constraints[i].knob) {
            most = fmin(most, constraints[i].value * capacity);
            limited = true;
        }
    return (RhRoom){limited ? most : RH_ROOM_FRAC * capacity, most};
}
