#include "calibrate/cuda/clock_power_meter.h"

#include "calibrate/cuda/vendor_libraries.h"

/* Declarations of NVML, whose header is not part of every toolkit (NVML API reference, device
 * queries); their meaning has not changed since version 2 of the interface. */
#define NVML_SUCCESS      0
#define NVML_CLOCK_SM     1
#define NVML_CLOCK_MEMORY 2

typedef int (*Init)(void);
typedef int (*ByPci)(const char *pci, void **device);
typedef int (*Clock)(void *device, int clock, unsigned *mhz);
typedef int (*Power)(void *device, unsigned *milliwatts);
typedef int (*Driver)(char *version, unsigned length);

static struct {
    Init init;
    ByPci by_pci;
    Clock clock, clock_max;
    Power power;
    Driver driver;
    void *device; /* NULL: nothing can be read */
} nvml;

void rk_meter_open(const char *pci)
{
    static const char *const NAMES[] = {"libnvidia-ml.so.1", NULL};
    void *l = rk_library_open(NAMES);
    void *device = NULL;
    if (RK_SYMBOL(l, &nvml, init, "nvmlInit_v2") &&
        RK_SYMBOL(l, &nvml, by_pci, "nvmlDeviceGetHandleByPciBusId_v2") &&
        RK_SYMBOL(l, &nvml, clock, "nvmlDeviceGetClockInfo") &&
        RK_SYMBOL(l, &nvml, clock_max, "nvmlDeviceGetMaxClockInfo") &&
        RK_SYMBOL(l, &nvml, power, "nvmlDeviceGetPowerUsage") &&
        RK_SYMBOL(l, &nvml, driver, "nvmlSystemGetDriverVersion") && nvml.init() == NVML_SUCCESS &&
        nvml.by_pci(pci, &device) == NVML_SUCCESS)
        nvml.device = device;
}

static double clock_mhz(Clock ask, int clock)
{
    unsigned mhz = 0;
    return nvml.device != NULL && ask(nvml.device, clock, &mhz) == NVML_SUCCESS ? mhz : 0;
}

RkReading rk_meter_read(void)
{
    unsigned milliwatts = 0;
    RkReading reading = {};
    reading.sm_mhz = clock_mhz(nvml.clock, NVML_CLOCK_SM);
    if (nvml.device != NULL && nvml.power(nvml.device, &milliwatts) == NVML_SUCCESS)
        reading.watts = milliwatts / 1000.0;
    return reading;
}

double rk_meter_sm_mhz_max(void)
{
    return clock_mhz(nvml.clock_max, NVML_CLOCK_SM);
}

double rk_meter_memory_mhz(void)
{
    return clock_mhz(nvml.clock, NVML_CLOCK_MEMORY);
}

void rk_meter_driver(char *out, size_t size)
{
    if (nvml.device == NULL || nvml.driver(out, (unsigned)size) != NVML_SUCCESS)
        out[0] = '\0';
}
