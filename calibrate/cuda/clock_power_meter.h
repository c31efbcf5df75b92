#pragma once
/* Clocks and power as the driver's management library tells them. Reads only; without the library
 * everything is 0. */
#include <stddef.h>

typedef struct {
    double sm_mhz, watts;
} RkReading;

void rk_meter_open(const char *pci);
RkReading rk_meter_read(void);

/* 0 and an empty text where unknown. */
double rk_meter_sm_mhz_max(void);
double rk_meter_memory_mhz(void);
void rk_meter_driver(char *out, size_t size);
