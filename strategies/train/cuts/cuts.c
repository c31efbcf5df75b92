#include "strategies/train/cuts/cut.h"

const RhCut *const rh_cuts[] = {&rh_cut_tensor, &rh_cut_context, &rh_cut_data, &rh_cut_zero, NULL};
