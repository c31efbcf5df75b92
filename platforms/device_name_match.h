#pragma once
/* Finds the device or the platform that a name means which a tool, a vendor or a person uses:
 * "NVIDIA H100 80GB HBM3", "A100 80GB", "MI300X-192GB", "p5.48xlarge".
 *
 * The files of the catalogue list such names under "names". A device's name is read as a model
 * ("a100"), a form factor (SXM, PCIe, NVL, OAM) and a size of memory, whatever their order,
 * punctuation and the vendor's words around them. A device fits a name when its model is the same
 * and it has the form factor and the memory, where the name says them. */
#include <glib.h>
#include <stdbool.h>

/* A device that a name means. */
typedef struct {
    const char *device; /* interned: its name in the catalogue */
    char *also;         /* owned: others that the name fits as well, "a100-pcie-80"; NULL */
    /* GB that the name says and no such device of the catalogue has, and the size that the chosen
     * one has; 0: the size is known, or not said */
    double other_gb, known_gb;
    bool bare; /* the name says neither form factor nor memory */
} RhDeviceName;

void rh_device_name_clear(RhDeviceName *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhDeviceName, rh_device_name_clear)

/* Finds the device of a name. `memory_bytes` (0: unknown), as a driver reports it, chooses where
 * the name leaves several. Where none has the named memory, the one of the nearest size is chosen,
 * with `other_gb` set. RH_ERROR_INPUT for an unknown model, or one that the catalogue has in
 * another form factor alone. */
bool rh_device_by_name(const char *text, double memory_bytes, RhDeviceName *out,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Finds the device of a name, and refuses a size of memory that the catalogue has not; interned.
 * `exact` refuses a bare model that several devices have, too ("h100"). */
const char *rh_device_of_name(const char *text, bool exact,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the platform that has this name or lists it, ignoring case and punctuation:
 * "p5.48xlarge", "DGX H100". Interned; NULL: none does. */
const char *rh_platform_of_name(const char *text);
