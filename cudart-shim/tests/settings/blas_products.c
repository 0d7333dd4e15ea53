/* Products of matrices by cuBLAS, beside sums in double precision. */
#include "blas.h"

int cublasSgemm_v2(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, const void *, int,
                   const void *, void *, int);
int cublasDgemm_v2_64(cublasHandle_t, int, int, int64_t, int64_t, int64_t, const void *, const void *, int64_t,
                      const void *, int64_t, const void *, void *, int64_t);
int cublasCgemm_v2(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, const void *, int,
                   const void *, void *, int);
int cublasZgemm_v2(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, const void *, int,
                   const void *, void *, int);
int cublasHgemm(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, const void *, int,
                const void *, void *, int);
int cublasGemmEx(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, int, const void *, int,
                 int, const void *, void *, int, int, int, int);
int cublasSgemmStridedBatched(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, long long,
                              const void *, int, long long, const void *, void *, int, long long, int);
int cublasGemmStridedBatchedEx(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, int,
                               long long, const void *, int, int, long long, const void *, void *, int, int,
                               long long, int, int, int);
int cublasGemmBatchedEx(cublasHandle_t, int, int, int, int, int, const void *, const void *const *, int, int,
                        const void *const *, int, int, const void *, void *const *, int, int, int, int, int);

enum Call { PLAIN, EX, STRIDED, STRIDED_EX, BATCHED_EX };

struct Case {
    enum Call call;
    int types[3];
    int compute;
    int of_a, of_b, m, n, k, lda, ldb, ldc, batches;
    double alpha[2], beta[2];
    int on_device;
};

static cublasHandle_t handle;

/* Types of the scalars. */
static int scale_of(const struct Case *c)
{
    if (parts_of(c->types[2]) == 2)
        return c->types[2];
    switch (c->compute) {
    case COMPUTE_16F: return R_16F;
    case COMPUTE_64F: return R_64F;
    case COMPUTE_32I: return R_32I;
    default: return R_32F;
    }
}

static int plain(const struct Case *c, const void *alpha, const void *beta, void *const *d)
{
#define ARGUMENTS \
    handle, c->of_a, c->of_b, c->m, c->n, c->k, alpha, d[0], c->lda, d[1], c->ldb, beta, d[2], c->ldc
    switch (c->types[0]) {
    case R_32F: return cublasSgemm_v2(ARGUMENTS);
    case R_64F: return cublasDgemm_v2_64(ARGUMENTS);
    case C_32F: return cublasCgemm_v2(ARGUMENTS);
    case C_64F: return cublasZgemm_v2(ARGUMENTS);
    default: return cublasHgemm(ARGUMENTS);
    }
}

static void element(const struct Case *c, const struct Array *array, int batch, size_t stride, int of, int leading,
                    int i, int j, double value[2])
{
    const size_t place = batch * stride + (of == OP_N ? i + (size_t)j * leading : j + (size_t)i * leading);
    const int parts = parts_of(array->type);
    (void)c;
    value[0] = get(array->host, place * parts, array->type);
    value[1] = parts == 2 ? get(array->host, place * parts + 1, array->type) : 0;
    if (of == OP_C)
        value[1] = -value[1];
}

static void run(const struct Case *c)
{
    const int columns_a = c->of_a == OP_N ? c->k : c->m, columns_b = c->of_b == OP_N ? c->n : c->k;
    const size_t strides[3] = {(size_t)c->lda * columns_a + 3, (size_t)c->ldb * columns_b + 5,
                               (size_t)c->ldc * c->n + 7};
    struct Array arrays[3];
    void *device[3];
    for (int index = 0; index < 3; index++) {
        arrays[index] = array_of(strides[index] * c->batches, c->types[index]);
        device[index] = arrays[index].device;
    }
    /* Not a number must not spread from elements that a call may not read. */
    if (c->beta[0] == 0 && c->beta[1] == 0 && part_size(c->types[2]) == 4 && c->types[2] != R_32I) {
        memset(arrays[2].host, 0xff, arrays[2].elements * 4);
        CHECK(cudaMemcpy(device[2], arrays[2].host, arrays[2].elements * 4, cudaMemcpyHostToDevice));
    }
    double scalars[4];
    const int scale = scale_of(c);
    put(scalars, 0, scale, c->alpha[0]);
    put(scalars, 1, scale, c->alpha[1]);
    put(scalars + 2, 0, scale, c->beta[0]);
    put(scalars + 2, 1, scale, c->beta[1]);
    const void *alpha = scalars, *beta = scalars + 2;
    void *on_device = NULL;
    CHECK(cublasSetPointerMode_v2(handle, c->on_device));
    if (c->on_device) {
        CHECK(cudaMalloc(&on_device, sizeof scalars));
        CHECK(cudaMemcpy(on_device, scalars, sizeof scalars, cudaMemcpyHostToDevice));
        alpha = on_device;
        beta = (double *)on_device + 2;
    }
    const int *t = c->types;
    void **pointers = NULL;
    switch (c->call) {
    case PLAIN: CHECK(plain(c, alpha, beta, device)); break;
    case EX:
        CHECK(cublasGemmEx(handle, c->of_a, c->of_b, c->m, c->n, c->k, alpha, device[0], t[0], c->lda, device[1],
                           t[1], c->ldb, beta, device[2], t[2], c->ldc, c->compute, -1));
        break;
    case STRIDED:
        CHECK(cublasSgemmStridedBatched(handle, c->of_a, c->of_b, c->m, c->n, c->k, alpha, device[0], c->lda,
                                        strides[0], device[1], c->ldb, strides[1], beta, device[2], c->ldc,
                                        strides[2], c->batches));
        break;
    case STRIDED_EX:
        CHECK(cublasGemmStridedBatchedEx(handle, c->of_a, c->of_b, c->m, c->n, c->k, alpha, device[0], t[0],
                                         c->lda, strides[0], device[1], t[1], c->ldb, strides[1], beta, device[2],
                                         t[2], c->ldc, strides[2], c->batches, c->compute, -1));
        break;
    case BATCHED_EX: {
        void *host[3][8];
        for (int index = 0; index < 3; index++)
            for (int batch = 0; batch < c->batches; batch++)
                host[index][batch] = (char *)device[index] +
                                     batch * strides[index] * part_size(t[index]) * parts_of(t[index]);
        CHECK(cudaMalloc((void **)&pointers, sizeof host));
        CHECK(cudaMemcpy(pointers, host, sizeof host, cudaMemcpyHostToDevice));
        CHECK(cublasGemmBatchedEx(handle, c->of_a, c->of_b, c->m, c->n, c->k, alpha,
                                  (const void *const *)pointers, t[0], c->lda, (const void *const *)pointers + 8,
                                  t[1], c->ldb, beta, pointers + 16, t[2], c->ldc, c->batches, c->compute, -1));
        break;
    }
    }
    void *results = results_of(&arrays[2]);
    const int parts = parts_of(t[2]);
    double worst = 0;
    size_t wrong = 0;
    for (int batch = 0; batch < c->batches; batch++)
        for (size_t place = 0; place < strides[2]; place++) {
            const int i = (int)(place % c->ldc), j = (int)(place / c->ldc);
            const size_t index = (batch * strides[2] + place) * parts;
            if (i >= c->m || j >= c->n) {
                wrong += memcmp((char *)results + index * part_size(t[2]),
                                (char *)arrays[2].host + index * part_size(t[2]), part_size(t[2]) * parts) != 0;
                continue;
            }
            double sum[2] = {0, 0}, size = 0;
            for (int l = 0; l < c->k; l++) {
                double a[2], b[2];
                element(c, &arrays[0], batch, strides[0], c->of_a, c->lda, i, l, a);
                element(c, &arrays[1], batch, strides[1], c->of_b, c->ldb, l, j, b);
                sum[0] += a[0] * b[0] - a[1] * b[1];
                sum[1] += a[0] * b[1] + a[1] * b[0];
                size += (fabs(a[0]) + fabs(a[1])) * (fabs(b[0]) + fabs(b[1]));
            }
            double expected[2] = {c->alpha[0] * sum[0] - c->alpha[1] * sum[1],
                                  c->alpha[0] * sum[1] + c->alpha[1] * sum[0]};
            if (c->beta[0] != 0 || c->beta[1] != 0) {
                const double re = get(arrays[2].host, index, t[2]);
                const double im = parts == 2 ? get(arrays[2].host, index + 1, t[2]) : 0;
                expected[0] += c->beta[0] * re - c->beta[1] * im;
                expected[1] += c->beta[0] * im + c->beta[1] * re;
            }
            double limit = precision_of(t[2]) * (fabs(expected[0]) + fabs(expected[1])) +
                           precision_of(t[2] == R_64F || t[2] == C_64F ? R_64F : R_32F) * (size + 1);
            if (c->compute == COMPUTE_32F_FAST_TF32)
                limit += 1e-3 * size;
            if (t[2] == R_32I)
                limit = 0;
            for (int part = 0; part < parts; part++) {
                const double difference = fabs(get(results, index + part, t[2]) - expected[part]);
                if (!(difference <= limit)) {
                    wrong++;
                    if (!(difference <= worst))
                        worst = difference;
                }
            }
        }
    if (wrong > 0) {
        failures++;
        printf("call %d types %d %d %d compute %d ops %d %d sizes %d %d %d leading %d %d %d batches %d alpha %g "
               "beta %g device %d: %zu elements wrong, by up to %g\n",
               c->call, t[0], t[1], t[2], c->compute, c->of_a, c->of_b, c->m, c->n, c->k, c->lda, c->ldb, c->ldc,
               c->batches, c->alpha[0], c->beta[0], c->on_device, wrong, worst);
    }
    free(results);
    if (on_device != NULL)
        CHECK(cudaFree(on_device));
    if (pointers != NULL)
        CHECK(cudaFree(pointers));
    for (int index = 0; index < 3; index++)
        release(&arrays[index]);
}

static const struct {
    enum Call call;
    int types[3];
    int compute;
} KINDS[] = {
    {PLAIN, {R_32F, R_32F, R_32F}, COMPUTE_32F},        {PLAIN, {R_64F, R_64F, R_64F}, COMPUTE_64F},
    {PLAIN, {C_32F, C_32F, C_32F}, COMPUTE_32F},        {PLAIN, {C_64F, C_64F, C_64F}, COMPUTE_64F},
    {PLAIN, {R_16F, R_16F, R_16F}, COMPUTE_16F},        {EX, {R_16F, R_16F, R_32F}, COMPUTE_32F},
    {EX, {R_16BF, R_16BF, R_16BF}, COMPUTE_32F},        {EX, {R_8I, R_8I, R_32I}, COMPUTE_32I},
    {EX, {R_32F, R_32F, R_32F}, COMPUTE_32F_FAST_TF32}, {STRIDED, {R_32F, R_32F, R_32F}, COMPUTE_32F},
    {STRIDED_EX, {R_16F, R_16F, R_16F}, COMPUTE_32F},   {BATCHED_EX, {R_16F, R_16F, R_16F}, COMPUTE_16F},
    {EX, {R_8I, R_8I, R_32F}, COMPUTE_32F},             {BATCHED_EX, {R_32F, R_32F, R_32F}, COMPUTE_32F},
    {STRIDED_EX, {C_32F, C_32F, C_32F}, COMPUTE_32F},   {EX, {R_16BF, R_16BF, R_32F}, COMPUTE_32F},
};

int main(void)
{
    CHECK(cublasCreate_v2(&handle));
    int version = 0;
    CHECK(cublasGetVersion_v2(handle, &version));
    if (version / 10000 != 12)
        printf("version %d\n", version);
    for (size_t kind = 0; kind < sizeof KINDS / sizeof KINDS[0]; kind++)
        for (int round = 0; round < 9; round++) {
            struct Case c = {.call = KINDS[kind].call, .compute = KINDS[kind].compute, .batches = 1};
            memcpy(c.types, KINDS[kind].types, sizeof c.types);
            const int is_complex = parts_of(c.types[0]) == 2, is_integer = c.types[2] == R_32I;
            const int bound = round < 4 ? 24 : 90;
            c.of_a = round % (is_complex ? 3 : 2);
            c.of_b = round / 2 % (is_complex ? 3 : 2);
            c.m = 1 + random_below(bound);
            c.n = 1 + random_below(bound);
            c.k = round == 8 ? 0 : 1 + random_below(bound);
            /* Sizes for which copies are vectors. */
            const int step = round % 3 == 2 ? 8 : 1;
            c.lda = ((c.of_a == OP_N ? c.m : c.k) + random_below(4) + step) / step * step;
            c.ldb = ((c.of_b == OP_N ? c.k : c.n) + random_below(4) + step) / step * step;
            c.ldc = c.m + random_below(3);
            c.batches = c.call == PLAIN || c.call == EX ? 1 : 1 + random_below(4);
            c.alpha[0] = is_integer ? 2 : round == 5 ? 0 : 0.75;
            c.beta[0] = is_integer ? round % 2 : round % 3 == 0 ? 0 : -0.5;
            c.alpha[1] = is_complex ? 0.25 : 0;
            c.beta[1] = is_complex && c.beta[0] != 0 ? 0.5 : 0;
            c.on_device = round == 4 || round == 7;
            run(&c);
        }
    CHECK(cublasDestroy_v2(handle));
    return failures > 0;
}
