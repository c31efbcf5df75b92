#include "calibrate/cuda/attention_cudnn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/cuda/vendor_libraries.h"

static void *library(void)
{
    static const char *const NAMES[] = {"libcudnn.so.9", NULL};
    static void *opened;
    if (opened == NULL)
        opened = rk_library_open(NAMES);
    return opened;
}

/* Reads the version by size_t cudnnGetVersion(void), which needs no header. */
void rk_cudnn_version(char *out, size_t size)
{
    size_t (*version)(void) = NULL;
    if (rk_library_symbol(library(), "cudnnGetVersion", &version))
        rk_version_text(version(), 10000, out, size);
    else
        snprintf(out, size, "absent");
}

#if __has_include(<cudnn_graph.h>)

#include <cudnn_graph.h>

#define DESCRIPTORS_MAX 96
#define OPERATIONS_MAX  32
#define CONFIGS_MAX     8

typedef cudnnBackendDescriptor_t Descriptor;

typedef struct {
    decltype(&cudnnCreate) create_handle;
    decltype(&cudnnSetStream) set_stream;
    decltype(&cudnnBackendCreateDescriptor) create;
    decltype(&cudnnBackendDestroyDescriptor) destroy;
    decltype(&cudnnBackendSetAttribute) set;
    decltype(&cudnnBackendGetAttribute) get;
    decltype(&cudnnBackendFinalize) finalize;
    decltype(&cudnnBackendExecute) execute;
    cudnnHandle_t handle;
    bool ready;
} Api;

struct RkCudnn {
    const Api *api;
    Descriptor all[DESCRIPTORS_MAX]; /* destroyed in reverse order */
    int all_count;
    Descriptor operations[OPERATIONS_MAX];
    int operations_count;
    int64_t next_uid; /* of tensors inside the kernel */
    bool ok;          /* false once anything was refused */
    Descriptor plan;
    int64_t b, h, hk, m, n, d; /* batch, heads, key heads, queries, keys, head size */
    cudnnDataType_t type;
    bool backward, causal;
    float scale, masked;
    void *workspace;
    int64_t workspace_bytes;
};

/* Ids of tensors that the host gives to the kernel. */
enum { UID_SCALE = 100, UID_MASKED, UID_ONE, UID_VIRTUAL = 200 };

static Api *api(void)
{
    static Api a;
    static bool tried;
    void *l = library();
    if (!tried)
        a.ready = RK_SYMBOL(l, &a, create_handle, "cudnnCreate") &&
                  RK_SYMBOL(l, &a, set_stream, "cudnnSetStream") &&
                  RK_SYMBOL(l, &a, create, "cudnnBackendCreateDescriptor") &&
                  RK_SYMBOL(l, &a, destroy, "cudnnBackendDestroyDescriptor") &&
                  RK_SYMBOL(l, &a, set, "cudnnBackendSetAttribute") &&
                  RK_SYMBOL(l, &a, get, "cudnnBackendGetAttribute") &&
                  RK_SYMBOL(l, &a, finalize, "cudnnBackendFinalize") &&
                  RK_SYMBOL(l, &a, execute, "cudnnBackendExecute");
    tried = true;
    return a.ready ? &a : NULL;
}

/* --- Descriptors --- */

static Descriptor make(RkCudnn *g, cudnnBackendDescriptorType_t type)
{
    Descriptor made = NULL;
    g->ok = g->ok && g->all_count < DESCRIPTORS_MAX &&
            g->api->create(type, &made) == CUDNN_STATUS_SUCCESS;
    if (g->ok)
        g->all[g->all_count++] = made;
    return made;
}

static void set(RkCudnn *g, Descriptor to, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    g->ok = g->ok && g->api->set(to, name, type, count, values) == CUDNN_STATUS_SUCCESS;
}

static void link(RkCudnn *g, Descriptor to, cudnnBackendAttributeName_t name, Descriptor other)
{
    set(g, to, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

static void set_type(RkCudnn *g, Descriptor to, cudnnBackendAttributeName_t name,
                     cudnnDataType_t type)
{
    set(g, to, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}

static Descriptor done(RkCudnn *g, Descriptor descriptor)
{
    g->ok = g->ok && g->api->finalize(descriptor) == CUDNN_STATUS_SUCCESS;
    return descriptor;
}

/* --- Tensors --- */

typedef struct {
    int64_t size[4], stride[4];
} Shape;

static Descriptor tensor(RkCudnn *g, int64_t uid, cudnnDataType_t type, Shape shape)
{
    int64_t alignment = 16;
    bool inner = uid >= UID_VIRTUAL, by_value = uid >= UID_SCALE && !inner;
    Descriptor t = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set_type(g, t, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    set(g, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, shape.size);
    set(g, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, shape.stride);
    set(g, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(g, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    set(g, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inner);
    set(g, t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    return done(g, t);
}

/* Shape of [batch, tokens, heads, size] in memory, seen as [batch, heads, tokens, size]. */
static Shape by_heads(int64_t batch, int64_t heads, int64_t tokens, int64_t size)
{
    return Shape{{batch, heads, tokens, size}, {tokens * heads * size, size, heads * size, 1}};
}

static Shape transposed(Shape s)
{
    return Shape{{s.size[0], s.size[1], s.size[3], s.size[2]},
                 {s.stride[0], s.stride[1], s.stride[3], s.stride[2]}};
}

static Shape packed(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return Shape{{a, b, c, d}, {b * c * d, c * d, d, 1}};
}

static Shape scores(const RkCudnn *g)
{
    return packed(g->b, g->h, g->m, g->n);
}

static Shape row_values(const RkCudnn *g)
{
    return packed(g->b, g->h, g->m, 1);
}

static Shape query_rows(const RkCudnn *g)
{
    return by_heads(g->b, g->h, g->m, g->d);
}

static Shape key_rows(const RkCudnn *g)
{
    return by_heads(g->b, g->hk, g->n, g->d);
}

static Descriptor operand(RkCudnn *g, int operand, Shape shape)
{
    return tensor(g, operand + 1, g->type, shape);
}

static Descriptor inner(RkCudnn *g, cudnnDataType_t type, Shape shape)
{
    return tensor(g, UID_VIRTUAL + g->next_uid++, type, shape);
}

static Descriptor scalar(RkCudnn *g, int64_t uid)
{
    return tensor(g, uid, CUDNN_DATA_FLOAT, packed(1, 1, 1, 1));
}

/* --- Operations --- */

static void add_operation(RkCudnn *g, Descriptor operation)
{
    done(g, operation);
    g->ok = g->ok && g->operations_count < OPERATIONS_MAX;
    if (g->ok)
        g->operations[g->operations_count++] = operation;
}

static Descriptor product(RkCudnn *g, Descriptor a, Descriptor b, Descriptor out)
{
    Descriptor how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set_type(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    done(g, how);
    Descriptor o = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    link(g, o, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    link(g, o, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    link(g, o, CUDNN_ATTR_OPERATION_MATMUL_CDESC, out);
    link(g, o, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    add_operation(g, o);
    return out;
}

/* Operation x op b; `b` may be NULL, `chosen` is the condition of a selection. */
typedef struct {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t compute;
    int64_t axis; /* of an index */
    Descriptor x, b, chosen;
} Pointwise;

static Descriptor pointwise(RkCudnn *g, Pointwise p, Descriptor out)
{
    Descriptor how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &p.mode);
    set_type(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, p.compute);
    if (p.mode == CUDNN_POINTWISE_GEN_INDEX)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &p.axis);
    done(g, how);
    Descriptor o = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    link(g, o, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    link(g, o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, p.x);
    if (p.b != NULL)
        link(g, o, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, p.b);
    if (p.chosen != NULL)
        link(g, o, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, p.chosen);
    link(g, o, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, out);
    add_operation(g, o);
    return out;
}

static Descriptor apply(RkCudnn *g, cudnnPointwiseMode_t mode, Descriptor x, Descriptor b,
                        Descriptor out)
{
    return pointwise(g, Pointwise{mode, CUDNN_DATA_FLOAT, 0, x, b, NULL}, out);
}

static Descriptor reduce(RkCudnn *g, cudnnReduceTensorOp_t op, Descriptor x, Descriptor out)
{
    Descriptor how = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
    set_type(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    done(g, how);
    Descriptor o = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    link(g, o, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    link(g, o, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    link(g, o, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, out);
    add_operation(g, o);
    return out;
}

static Descriptor reshape(RkCudnn *g, Descriptor x, Descriptor out)
{
    Descriptor o = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    link(g, o, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    link(g, o, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, out);
    add_operation(g, o);
    return out;
}

/* --- Attention --- */

static Descriptor score_like(RkCudnn *g, cudnnDataType_t type = CUDNN_DATA_FLOAT)
{
    return inner(g, type, scores(g));
}

/* Masks keys after the query with a score whose exponential is 0. */
static Descriptor mask(RkCudnn *g, Descriptor x)
{
    if (!g->causal)
        return x;
    Descriptor row =
        pointwise(g, Pointwise{CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, 2, x, NULL, NULL},
                  score_like(g, CUDNN_DATA_INT32));
    Descriptor column =
        pointwise(g, Pointwise{CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, 3, x, NULL, NULL},
                  score_like(g, CUDNN_DATA_INT32));
    Descriptor seen =
        pointwise(g, Pointwise{CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, 0, row, column, NULL},
                  score_like(g, CUDNN_DATA_BOOLEAN));
    return pointwise(g,
                     Pointwise{CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, 0, x,
                               scalar(g, UID_MASKED), seen},
                     score_like(g));
}

static Descriptor row_like(RkCudnn *g)
{
    return inner(g, CUDNN_DATA_FLOAT, row_values(g));
}

static void draw_forward(RkCudnn *g)
{
    Descriptor q = operand(g, RK_CUDNN_Q, query_rows(g));
    Descriptor k = operand(g, RK_CUDNN_K, transposed(key_rows(g)));
    Descriptor v = operand(g, RK_CUDNN_V, key_rows(g));
    Descriptor s = product(g, q, k, score_like(g));
    s = apply(g, CUDNN_POINTWISE_MUL, s, scalar(g, UID_SCALE), score_like(g));
    s = mask(g, s);
    Descriptor max = reduce(g, CUDNN_REDUCE_TENSOR_MAX, s, row_like(g));
    s = apply(g, CUDNN_POINTWISE_SUB, s, max, score_like(g));
    s = apply(g, CUDNN_POINTWISE_EXP, s, NULL, score_like(g));
    Descriptor sum = reduce(g, CUDNN_REDUCE_TENSOR_ADD, s, row_like(g));
    Descriptor log_sum = apply(g, CUDNN_POINTWISE_LOG, sum, NULL, row_like(g));
    apply(g, CUDNN_POINTWISE_ADD, max, log_sum,
          tensor(g, RK_CUDNN_LOG_SUM + 1, CUDNN_DATA_FLOAT, row_values(g)));
    s = apply(g, CUDNN_POINTWISE_DIV, s, sum, score_like(g, g->type));
    product(g, s, v, operand(g, RK_CUDNN_OUT, query_rows(g)));
}

/* Gradient of keys or values: rows of all heads, summed over those that share a key head. */
static void key_gradient(RkCudnn *g, Descriptor weights, Descriptor rows, int to)
{
    Descriptor out = operand(g, to, key_rows(g));
    Shape whole = packed(g->b, g->h, g->n, g->d);
    if (g->h == g->hk)
        product(g, weights, rows, out);
    else
        reduce(g, CUDNN_REDUCE_TENSOR_ADD, product(g, weights, rows, inner(g, g->type, whole)),
               out);
}

static void draw_backward(RkCudnn *g)
{
    Descriptor q = operand(g, RK_CUDNN_Q, query_rows(g));
    Descriptor k = operand(g, RK_CUDNN_K, transposed(key_rows(g)));
    Descriptor v = operand(g, RK_CUDNN_V, transposed(key_rows(g)));
    Descriptor out = operand(g, RK_CUDNN_OUT, query_rows(g));
    Descriptor gradient = operand(g, RK_CUDNN_OUT_GRADIENT, query_rows(g));
    Descriptor log_sum = tensor(g, RK_CUDNN_LOG_SUM + 1, CUDNN_DATA_FLOAT, row_values(g));
    Descriptor scale = scalar(g, UID_SCALE);

    Descriptor x =
        apply(g, CUDNN_POINTWISE_MUL, gradient, out, inner(g, CUDNN_DATA_FLOAT, query_rows(g)));
    x = reduce(g, CUDNN_REDUCE_TENSOR_ADD, x, row_like(g));
    Descriptor products = apply(g, CUDNN_POINTWISE_MUL, x, scalar(g, UID_ONE),
                                tensor(g, RK_CUDNN_PRODUCTS + 1, CUDNN_DATA_FLOAT, row_values(g)));

    Descriptor p = product(g, q, k, score_like(g));
    p = apply(g, CUDNN_POINTWISE_MUL, p, scale, score_like(g));
    p = apply(g, CUDNN_POINTWISE_SUB, p, log_sum, score_like(g));
    p = mask(g, p);
    p = apply(g, CUDNN_POINTWISE_EXP, p, NULL, score_like(g));
    Descriptor turned = reshape(g, p, inner(g, g->type, transposed(scores(g))));
    key_gradient(g, turned, gradient, RK_CUDNN_V_GRADIENT);

    Descriptor s = product(g, gradient, v, score_like(g));
    s = apply(g, CUDNN_POINTWISE_SUB, s, products, score_like(g));
    s = apply(g, CUDNN_POINTWISE_MUL, s, p, score_like(g));
    s = apply(g, CUDNN_POINTWISE_MUL, s, scale, score_like(g, g->type));
    turned = reshape(g, s, inner(g, g->type, transposed(scores(g))));
    key_gradient(g, turned, q, RK_CUDNN_K_GRADIENT);

    Descriptor keys = reshape(g, k, inner(g, g->type, key_rows(g)));
    Descriptor sum =
        product(g, s, keys, tensor(g, RK_CUDNN_Q_SUM + 1, CUDNN_DATA_FLOAT, query_rows(g)));
    apply(g, CUDNN_POINTWISE_IDENTITY, sum, NULL, operand(g, RK_CUDNN_Q_GRADIENT, query_rows(g)));
}

/* --- Plans --- */

static Descriptor close_graph(RkCudnn *g)
{
    Descriptor graph = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(g, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->operations_count,
        g->operations);
    set(g, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->api->handle);
    return done(g, graph);
}

static bool finish_plan(RkCudnn *g, Descriptor config)
{
    Descriptor plan = NULL;
    int64_t count = 0;
    const Api *a = g->api;
    if (a->create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) != CUDNN_STATUS_SUCCESS)
        return false;
    bool ok = a->set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     1, &config) == CUDNN_STATUS_SUCCESS;
    ok = ok &&
         a->set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &a->handle) ==
             CUDNN_STATUS_SUCCESS &&
         a->finalize(plan) == CUDNN_STATUS_SUCCESS &&
         a->get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                &g->workspace_bytes) == CUDNN_STATUS_SUCCESS;
    if (ok && g->all_count < DESCRIPTORS_MAX)
        g->plan = g->all[g->all_count++] = plan;
    else
        a->destroy(plan);
    return g->plan != NULL;
}

/* Chooses the first of the library's suggestions that can be built. */
static bool choose_plan(RkCudnn *g, Descriptor graph)
{
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    Descriptor ask = make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), configs[CONFIGS_MAX];
    int64_t count = 0;
    link(g, ask, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set(g, ask, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    done(g, ask);
    for (Descriptor &config : configs)
        config = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    g->ok = g->ok && g->api->get(ask, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 CONFIGS_MAX, &count, configs) == CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; g->ok && i < count && i < CONFIGS_MAX; i++)
        if (finish_plan(g, configs[i]))
            return true;
    return false;
}

static RkCudnn *begin(const Api *a, const RkSample *s)
{
    RkCudnn *g = (RkCudnn *)calloc(1, sizeof *g);
    if (g == NULL)
        return NULL;
    g->api = a;
    g->ok = true;
    g->b = s->batch;
    g->h = s->heads;
    g->hk = s->kv_heads;
    g->m = s->m;
    g->n = s->n;
    g->d = s->k;
    g->type = s->dtype == RH_DTYPE_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
    g->backward = s->cls == RK_ATTENTION_BACKWARD;
    g->causal = s->causal;
    g->scale = 1.0f / sqrtf((float)s->k);
    g->masked = -1e30f; /* infinity minus infinity would be NaN */
    return g;
}

static bool plan_it(RkCudnn *g)
{
    if (g->backward)
        draw_backward(g);
    else
        draw_forward(g);
    Descriptor graph = close_graph(g);
    return choose_plan(g, graph);
}

void rk_cudnn_free(RkCudnn *g)
{
    while (g != NULL && g->all_count > 0)
        g->api->destroy(g->all[--g->all_count]);
    free(g);
}

static bool shape_fits(const RkSample *s, RkError *why)
{
    if (s->dtype != RH_DTYPE_BF16 && s->dtype != RH_DTYPE_FP16)
        return rk_fail(why, "cuDNN's attention is used for fp16 and bf16");
    if (s->causal && s->m != s->n)
        return rk_fail(why, "a causal mask over %lld x %lld tokens is not measured",
                       (long long)s->m, (long long)s->n);
    return true;
}

bool rk_cudnn_make(RkGpu *gpu, const RkSample *sample, RkCudnn **out, RkError *why)
{
    Api *a = api();
    if (a == NULL)
        return rk_fail(why, "libcudnn.so.9 is not on this machine");
    if (!shape_fits(sample, why))
        return false;
    if (a->handle == NULL && a->create_handle(&a->handle) != CUDNN_STATUS_SUCCESS)
        return rk_fail(why, "cuDNN does not start");
    RkCudnn *g = begin(a, sample);
    if (g == NULL || !plan_it(g)) {
        rk_cudnn_free(g);
        return rk_fail(why, "cuDNN has no engine for it");
    }
    if (g->workspace_bytes > 0)
        g->workspace = rk_gpu_take(gpu, (size_t)g->workspace_bytes);
    if (g->workspace_bytes > 0 && g->workspace == NULL) {
        rk_cudnn_free(g);
        return rk_fail(why, "no memory for cuDNN's workspace");
    }
    *out = g;
    return true;
}

bool rk_cudnn_enqueue(RkCudnn *g, void *const *buffers, cudaStream_t stream)
{
    const Api *a = g->api;
    float one = 1;
    int64_t uids[RK_CUDNN_OPERANDS + 3];
    void *pointers[RK_CUDNN_OPERANDS + 3];
    int count = 0, operands = g->backward ? RK_CUDNN_OPERANDS : RK_CUDNN_LOG_SUM + 1;
    for (; count < operands; count++) {
        uids[count] = count + 1;
        pointers[count] = buffers[count];
    }
    uids[count] = UID_SCALE;
    pointers[count++] = &g->scale;
    if (g->causal) {
        uids[count] = UID_MASKED;
        pointers[count++] = &g->masked;
    }
    if (g->backward) {
        uids[count] = UID_ONE;
        pointers[count++] = &one;
        cudaMemsetAsync(buffers[RK_CUDNN_Q_SUM], 0,
                        (size_t)(g->b * g->h * g->m * g->d) * sizeof(float), stream);
    }
    Descriptor pack = NULL;
    bool ok = a->set_stream(a->handle, stream) == CUDNN_STATUS_SUCCESS &&
              a->create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack) == CUDNN_STATUS_SUCCESS &&
              a->set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids) ==
                  CUDNN_STATUS_SUCCESS &&
              a->set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
                     pointers) == CUDNN_STATUS_SUCCESS &&
              a->set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                     &g->workspace) == CUDNN_STATUS_SUCCESS &&
              a->finalize(pack) == CUDNN_STATUS_SUCCESS &&
              a->execute(a->handle, g->plan, pack) == CUDNN_STATUS_SUCCESS;
    if (pack != NULL)
        a->destroy(pack);
    return ok;
}

#else

bool rk_cudnn_make(RkGpu *, const RkSample *, RkCudnn **, RkError *why)
{
    return rk_fail(why, "built without cudnn_graph.h");
}

void rk_cudnn_free(RkCudnn *)
{
}

bool rk_cudnn_enqueue(RkCudnn *, void *const *, cudaStream_t)
{
    return false;
}

#endif
