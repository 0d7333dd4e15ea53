/* Vectors of several types, batches of vectors, copies, captured calls, and a function without a body. */
#include "blas.h"

int cublasDotEx(cublasHandle_t, int, const void *, int, int, const void *, int, int, void *, int, int);
int cublasNrm2Ex(cublasHandle_t, int, const void *, int, int, void *, int, int);
int cublasAxpyEx(cublasHandle_t, int, const void *, int, const void *, int, int, void *, int, int, int);
int cublasScalEx(cublasHandle_t, int, const void *, int, void *, int, int, int);
int cublasHSSgemvStridedBatched(cublasHandle_t, int, int, int, const float *, const void *, int, long long,
                                const void *, int, long long, const float *, void *, int, long long, int);
int cublasSetMatrix(int, int, int, const void *, int, void *, int);
int cublasGetMatrix(int, int, int, const void *, int, void *, int);
int cublasSetVector(int, int, const void *, int, void *, int);
int cublasSgemm_v2(cublasHandle_t, int, int, int, int, int, const void *, const void *, int, const void *, int,
                   const void *, void *, int);
int cublasSgeqrfBatched(cublasHandle_t, int, int, void *, int, void *, int *, int);

int cudaStreamBeginCapture(cudaStream, int);
int cudaStreamEndCapture(cudaStream, void **);
int cudaGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, cudaStream);

static cublasHandle_t handle;

static void expect(const char *what, double told, double expected, double limit)
{
    if (!(fabs(told - expected) <= limit)) {
        failures++;
        printf("%s: %g, not %g\n", what, told, expected);
    }
}

static void vectors(int type)
{
    const int n = 500;
    struct Array x = array_of(2 * n, type), y = array_of(n, type);
    double product = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        product += get(x.host, 2 * i, type) * get(y.host, i, type);
        squares += get(x.host, 2 * i, type) * get(x.host, 2 * i, type);
    }
    double words[1];
    CHECK(cublasDotEx(handle, n, x.device, type, 2, y.device, type, 1, words, type, R_32F));
    expect("dot", get(words, 0, type), product, precision_of(type) * (fabs(product) + 1));
    CHECK(cublasNrm2Ex(handle, n, x.device, type, 2, words, type, R_32F));
    expect("nrm2", get(words, 0, type), sqrt(squares), precision_of(type) * sqrt(squares));
    const float alpha = 0.5F;
    CHECK(cublasAxpyEx(handle, n, &alpha, R_32F, x.device, type, 2, y.device, type, 1, R_32F));
    CHECK(cublasScalEx(handle, n, &alpha, R_32F, x.device, type, 2, R_32F));
    void *sums = results_of(&y), *scaled = results_of(&x);
    for (int i = 0; i < n; i++) {
        expect("axpy", get(sums, i, type), get(y.host, i, type) + 0.5 * get(x.host, 2 * i, type),
               2 * precision_of(type));
        expect("scal", get(scaled, 2 * i, type), 0.5 * get(x.host, 2 * i, type), precision_of(type));
        expect("gap", get(scaled, 2 * i + 1, type), get(x.host, 2 * i + 1, type), 0);
    }
    free(sums);
    free(scaled);
    release(&x);
    release(&y);
}

static void batch_of_vectors(void)
{
    enum { M = 21, N = 33, BATCHES = 4 };
    struct Array a = array_of(M * N * BATCHES, R_16F), x = array_of(2 * M * BATCHES, R_16F);
    struct Array y = array_of(N * BATCHES, R_32F);
    const float alpha = 2, beta = 0.5F;
    CHECK(cublasHSSgemvStridedBatched(handle, OP_T, M, N, &alpha, a.device, M, M * N, x.device, 2, 2 * M, &beta,
                                      y.device, 1, N, BATCHES));
    void *results = results_of(&y);
    for (int batch = 0; batch < BATCHES; batch++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int i = 0; i < M; i++)
                sum += get(a.host, (size_t)(batch * N + j) * M + i, R_16F) *
                       get(x.host, (size_t)(batch * M + i) * 2, R_16F);
            const size_t place = (size_t)batch * N + j;
            expect("gemv", get(results, place, R_32F), 2 * sum + 0.5 * get(y.host, place, R_32F), 1e-3);
        }
    free(results);
    release(&a);
    release(&x);
    release(&y);
}

static void copies(void)
{
    enum { ROWS = 5, COLUMNS = 7 };
    float from[(ROWS + 2) * COLUMNS], to[(ROWS + 4) * COLUMNS] = {0};
    for (int index = 0; index < (ROWS + 2) * COLUMNS; index++)
        from[index] = (float)index;
    float *device;
    CHECK(cudaMalloc((void **)&device, sizeof(float) * ROWS * COLUMNS));
    CHECK(cublasSetMatrix(ROWS, COLUMNS, 4, from, ROWS + 2, device, ROWS));
    CHECK(cublasGetMatrix(ROWS, COLUMNS, 4, device, ROWS, to, ROWS + 4));
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++)
            expect("matrix", to[i + j * (ROWS + 4)], from[i + j * (ROWS + 2)], 0);
    CHECK(cublasSetVector(COLUMNS, 4, from, ROWS + 2, device, 1));
    CHECK(cudaMemcpy(to, device, sizeof(float) * COLUMNS, cudaMemcpyDeviceToHost));
    for (int j = 0; j < COLUMNS; j++)
        expect("vector", to[j], from[j * (ROWS + 2)], 0);
    CHECK(cudaFree(device));
}

static void captured(void)
{
    struct Array a = array_of(64, R_32F), c = array_of(64, R_32F);
    const float one = 1;
    cudaStream_t stream;
    void *graph, *executable;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cublasSetStream_v2(handle, stream));
    CHECK(cudaStreamBeginCapture(stream, 0));
    /* c += a * a */
    CHECK(cublasSgemm_v2(handle, OP_N, OP_N, 8, 8, 8, &one, a.device, 8, a.device, 8, &one, c.device, 8));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    void *results = results_of(&c);
    for (int i = 0; i < 8; i++) {
        double sum = get(c.host, i, R_32F);
        for (int l = 0; l < 8; l++)
            sum += 2 * get(a.host, i + 8 * l, R_32F) * get(a.host, l, R_32F);
        expect("captured", get(results, i, R_32F), sum, 1e-5);
    }
    free(results);
    CHECK(cublasSetStream_v2(handle, NULL));
    release(&a);
    release(&c);
}

int main(void)
{
    if (cublasCreate_v2(NULL) != 7 || cublasDestroy_v2(NULL) != 1)
        printf("null handles are accepted\n");
    CHECK(cublasCreate_v2(&handle));
    vectors(R_16F);
    vectors(R_16BF);
    vectors(R_32F);
    batch_of_vectors();
    copies();
    captured();
    int information;
    for (int call = 0; call < 2; call++)
        expect("missing", cublasSgeqrfBatched(handle, 2, 2, NULL, 2, NULL, &information, 1), 15, 0);
    CHECK(cublasDestroy_v2(handle));
    return failures > 0;
}
