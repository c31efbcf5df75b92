#include "platforms/kernels/kernel_class.h"

#include <stddef.h>

static const char *const DTYPE_NAMES[RH_DTYPE_LAST] = {
    [RH_DTYPE_NONE] = "none", [RH_DTYPE_FP32] = "fp32", [RH_DTYPE_TF32] = "tf32",
    [RH_DTYPE_FP16] = "fp16", [RH_DTYPE_BF16] = "bf16", [RH_DTYPE_FP8] = "fp8",
    [RH_DTYPE_FP4] = "fp4",
};

static const int DTYPE_BYTES[RH_DTYPE_LAST] = {
    [RH_DTYPE_FP32] = 4, [RH_DTYPE_TF32] = 4, [RH_DTYPE_FP16] = 2,
    [RH_DTYPE_BF16] = 2, [RH_DTYPE_FP8] = 1,  [RH_DTYPE_FP4] = 1,
};

static const char *const CLASS_NAMES[RH_KERNEL_LAST] = {
    [RH_KERNEL_NONE] = "none",
    [RH_KERNEL_GEMM] = "gemm",
    [RH_KERNEL_ATTENTION] = "attention",
    [RH_KERNEL_ATTENTION_BACKWARD] = "attention-backward",
    [RH_KERNEL_SCAN] = "scan",
    [RH_KERNEL_SOFTMAX] = "softmax",
    [RH_KERNEL_NORM] = "norm",
    [RH_KERNEL_ROTARY] = "rotary",
    [RH_KERNEL_ACTIVATION] = "activation",
    [RH_KERNEL_ADD] = "add",
    [RH_KERNEL_DEPTHWISE] = "depthwise",
    [RH_KERNEL_POOL] = "pool",
    [RH_KERNEL_CAST] = "cast",
    [RH_KERNEL_EMBEDDING] = "embedding",
    [RH_KERNEL_CROSS_ENTROPY] = "cross-entropy",
    [RH_KERNEL_OPTIMIZER] = "optimizer",
    [RH_KERNEL_REDUCE] = "reduce",
};

static char dashed(char letter)
{
    return letter == '_' ? '-' : letter;
}

bool rh_kernel_names_equal(const char *a, const char *b)
{
    while (*a != '\0' && dashed(*a) == dashed(*b)) {
        a++;
        b++;
    }
    return dashed(*a) == dashed(*b);
}

static int index_of(const char *name, const char *const *names, int count)
{
    for (int i = 1; name != NULL && i < count; i++)
        if (rh_kernel_names_equal(names[i], name))
            return i;
    return 0;
}

int rh_dtype_bytes(RhDtype dtype)
{
    return dtype < RH_DTYPE_LAST ? DTYPE_BYTES[dtype] : 0;
}

const char *rh_dtype_name(RhDtype dtype)
{
    return dtype < RH_DTYPE_LAST ? DTYPE_NAMES[dtype] : "none";
}

RhDtype rh_dtype_by_name(const char *name)
{
    return (RhDtype)index_of(name, DTYPE_NAMES, RH_DTYPE_LAST);
}

const char *rh_kernel_class_name(RhKernelClass cls)
{
    return cls < RH_KERNEL_LAST ? CLASS_NAMES[cls] : "none";
}

RhKernelClass rh_kernel_class_by_name(const char *name)
{
    return (RhKernelClass)index_of(name, CLASS_NAMES, RH_KERNEL_LAST);
}
