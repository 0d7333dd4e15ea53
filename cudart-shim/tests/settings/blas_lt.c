/* Products by cublasLtMatmul with their epilogues, beside sums in double precision. */
#include "blas.h"

typedef struct {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} Choice;

int cublasLtCreate(void **);
int cublasLtDestroy(void *);
size_t cublasLtGetVersion(void);
int cublasLtMatmulDescCreate(void **, int, int);
int cublasLtMatmulDescDestroy(void *);
int cublasLtMatmulDescSetAttribute(void *, int, const void *, size_t);
int cublasLtMatrixLayoutCreate(void **, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutDestroy(void *);
int cublasLtMatrixLayoutSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmulPreferenceCreate(void **);
int cublasLtMatmulPreferenceDestroy(void *);
int cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *, int, Choice *, int *);
int cublasLtMatmul(void *, void *, const void *, const void *, void *, const void *, void *, const void *,
                   const void *, void *, void *, void *, const void *, void *, size_t, void *);

enum { TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS = 8, AUX = 11, AUX_LD = 12, BIAS_TYPE = 26 };
enum {
    DEFAULT = 1,
    RELU = 2,
    WITH_BIAS = 4,
    DRELU = 8,
    BGRAD = 16,
    GELU = 32,
    DGELU = 64,
    WITH_AUX = 128,
    BGRADA = 256,
    BGRADB = 512
};

static void *lt;

static void set(void *operation, int attribute, const void *value, size_t size)
{
    CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, value, size));
}

static double gelu(double x) { return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))); }

static void *layout(int type, int rows, int columns, int leading, int by_rows)
{
    void *made;
    CHECK(cublasLtMatrixLayoutCreate(&made, type, (uint64_t)rows, (uint64_t)columns, leading));
    const int order = by_rows;
    CHECK(cublasLtMatrixLayoutSetAttribute(made, 1, &order, sizeof order));
    return made;
}

/* One product; `by_rows` is the order of all four matrices. */
static void run(int type, int result, int of_a, int of_b, int epilogue, int by_rows)
{
    const int m = 1 + random_below(80), n = 1 + random_below(80), k = 1 + random_below(60);
    const int rows_a = of_a ? k : m, columns_a = of_a ? m : k, rows_b = of_b ? n : k, columns_b = of_b ? k : n;
    const int lda = (by_rows ? columns_a : rows_a) + 2, ldb = (by_rows ? columns_b : rows_b) + 1;
    const int ldd = (by_rows ? n : m) + 3;
    struct Array a = array_of((size_t)lda * (by_rows ? rows_a : columns_a), type);
    struct Array b = array_of((size_t)ldb * (by_rows ? rows_b : columns_b), type);
    struct Array c = array_of((size_t)ldd * (by_rows ? m : n), result);
    struct Array d = array_of((size_t)ldd * (by_rows ? m : n), result);
    struct Array bias = array_of((size_t)(m > n ? m : n), result);
    /* Bits for the gradient of RELU, or elements. */
    const int64_t aux_leading = epilogue & (RELU | DRELU) ? (m + 127) / 128 * 128 : m + 7;
    struct Array aux = array_of((size_t)aux_leading * n, result);
    const int is_double = result == R_64F;
    const double alpha = 0.5, beta = epilogue == DEFAULT || epilogue == WITH_BIAS ? 0.25 : 0;
    double scalars[2];
    put(scalars, 0, is_double ? R_64F : R_32F, alpha);
    put(scalars + 1, 0, is_double ? R_64F : R_32F, beta);
    void *operation, *preference;
    CHECK(cublasLtMatmulDescCreate(&operation, is_double ? COMPUTE_64F : COMPUTE_32F, is_double ? R_64F : R_32F));
    set(operation, TRANSA, &of_a, sizeof of_a);
    set(operation, TRANSB, &of_b, sizeof of_b);
    set(operation, EPILOGUE, &epilogue, sizeof epilogue);
    set(operation, BIAS, &bias.device, sizeof bias.device);
    if (epilogue & WITH_AUX) {
        set(operation, AUX, &aux.device, sizeof aux.device);
        set(operation, AUX_LD, &aux_leading, sizeof aux_leading);
    }
    void *a_layout = layout(type, rows_a, columns_a, lda, by_rows);
    void *b_layout = layout(type, rows_b, columns_b, ldb, by_rows);
    void *c_layout = layout(result, m, n, ldd, by_rows);
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const size_t workspace = 1 << 20;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, 1, &workspace, sizeof workspace));
    Choice choice[4];
    int count = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(lt, operation, a_layout, b_layout, c_layout, c_layout, preference, 4,
                                         choice, &count));
    if (count < 1 || choice[0].state != 0 || choice[0].workspace > workspace)
        printf("%d algorithms\n", count);
    CHECK(cublasLtMatmul(lt, operation, scalars, a.device, a_layout, b.device, b_layout, scalars + 1, c.device, c_layout,
                         d.device, c_layout, choice[0].algorithm, NULL, 0, NULL));
    void *results = results_of(&d), *biases = results_of(&bias), *auxiliary = results_of(&aux);
    size_t wrong = 0;
    const double precision = precision_of(result) + (is_double ? 0 : 1e-5);
    double *sums = calloc((size_t)m + n, sizeof *sums);
#define AT(ARRAY, LEADING, I, J) \
    get((ARRAY).host, by_rows ? (size_t)(I) * (LEADING) + (J) : (size_t)(J) * (LEADING) + (I), (ARRAY).type)
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double value = 0;
            for (int l = 0; l < k; l++)
                value += (of_a ? AT(a, lda, l, i) : AT(a, lda, i, l)) *
                         (of_b ? AT(b, ldb, j, l) : AT(b, ldb, l, j));
            value *= alpha;
            if (beta != 0)
                value += beta * AT(c, ldd, i, j);
            if (epilogue & WITH_BIAS)
                value += get(bias.host, (size_t)i, result);
            const size_t place = (size_t)aux_leading * j + i;
            const int bit = ((const uint8_t *)auxiliary)[place / 8] >> (place % 8) & 1;
            if (epilogue & RELU) {
                if (epilogue & WITH_AUX && fabs(value) > 1e-3)
                    wrong += bit != (value > 0);
                value = value > 0 ? value : 0;
            }
            if (epilogue & GELU) {
                if (epilogue & WITH_AUX)
                    wrong += fabs(get(auxiliary, place, result) - value) > precision * (1 + fabs(value));
                value = gelu(value);
            }
            if (epilogue & DRELU)
                value = bit ? value : 0;
            if (epilogue & DGELU) {
                const double x = get(aux.host, place, result), step = 1e-5;
                value *= (gelu(x + step) - gelu(x - step)) / (2 * step);
            }
            const double told =
                get(results, by_rows ? (size_t)i * ldd + j : (size_t)j * ldd + i, result);
            wrong += !(fabs(told - value) <= precision * (1 + fabs(value)));
            sums[i] += told;
        }
    if (epilogue & BGRADA)
        for (int i = 0; i < m; i++) {
            sums[i] = 0;
            for (int l = 0; l < k; l++)
                sums[i] += of_a ? AT(a, lda, l, i) : AT(a, lda, i, l);
        }
    if (epilogue & BGRADB)
        for (int j = 0; j < n; j++) {
            sums[j] = 0;
            for (int l = 0; l < k; l++)
                sums[j] += of_b ? AT(b, ldb, j, l) : AT(b, ldb, l, j);
        }
    if (epilogue & (BGRAD | BGRADA | BGRADB))
        for (int i = 0; i < (epilogue & BGRADB ? n : m); i++)
            wrong += !(fabs(get(biases, (size_t)i, result) - sums[i]) <= precision * (4 + fabs(sums[i])));
    if (wrong > 0) {
        failures++;
        printf("types %d %d ops %d %d epilogue %d by rows %d sizes %d %d %d: %zu wrong\n", type, result, of_a, of_b,
               epilogue, by_rows, m, n, k, wrong);
    }
    free(results);
    free(biases);
    free(auxiliary);
    free(sums);
    struct Array *all[] = {&a, &b, &c, &d, &bias, &aux};
    for (size_t index = 0; index < sizeof all / sizeof all[0]; index++)
        release(all[index]);
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
    CHECK(cublasLtMatmulDescDestroy(operation));
    CHECK(cublasLtMatrixLayoutDestroy(a_layout));
    CHECK(cublasLtMatrixLayoutDestroy(b_layout));
    CHECK(cublasLtMatrixLayoutDestroy(c_layout));
}

int main(void)
{
    static const int TYPES[][2] = {{R_32F, R_32F}, {R_16F, R_16F}, {R_16BF, R_16BF}, {R_16F, R_32F}};
    static const int EPILOGUES[] = {DEFAULT,
                                    WITH_BIAS,
                                    RELU,
                                    RELU | WITH_BIAS,
                                    RELU | WITH_BIAS | WITH_AUX,
                                    GELU,
                                    GELU | WITH_BIAS,
                                    GELU | WITH_AUX,
                                    GELU | WITH_AUX | WITH_BIAS,
                                    DRELU | WITH_AUX,
                                    DGELU | WITH_AUX,
                                    DRELU | WITH_AUX | BGRAD,
                                    DGELU | WITH_AUX | BGRAD,
                                    BGRADA,
                                    BGRADB};
    CHECK(cublasLtCreate(&lt));
    if (cublasLtGetVersion() / 10000 != 12)
        printf("version %zu\n", cublasLtGetVersion());
    for (size_t kind = 0; kind < sizeof TYPES / sizeof TYPES[0]; kind++)
        for (size_t index = 0; index < sizeof EPILOGUES / sizeof EPILOGUES[0]; index++) {
            const int *t = TYPES[kind];
            run(t[0], t[1], (int)(kind + index) % 2, (int)(kind + index) / 2 % 2, EPILOGUES[index], 0);
            if (!(EPILOGUES[index] & WITH_AUX))
                run(t[0], t[1], (int)index % 2, (int)kind % 2, EPILOGUES[index], 1);
        }
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        run(R_64F, R_64F, by_rows, 0, DEFAULT, by_rows);
        run(R_64F, R_64F, 0, by_rows, WITH_BIAS, by_rows);
        run(R_64F, R_64F, 1, by_rows, RELU | WITH_BIAS, by_rows);
    }
    CHECK(cublasLtDestroy(lt));
    /* A handle of cuBLAS is one of cuBLASLt, too. */
    CHECK(cublasCreate_v2(&lt));
    run(R_32F, R_32F, 0, 1, WITH_BIAS, 0);
    CHECK(cublasDestroy_v2(lt));
    return failures > 0;
}
