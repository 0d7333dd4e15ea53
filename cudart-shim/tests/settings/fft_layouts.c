/* Two and three dimensions, advanced layouts, work areas, typed plans, and captured calls. */
#include "fft.h"

int cudaStreamBeginCapture(cudaStream_t, int);
int cudaStreamEndCapture(cudaStream_t, void **);
int cudaGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, cudaStream_t);

static const int types[] = {C2C, R2C, C2R, Z2Z, D2Z, Z2D};

static void both_places(cufftHandle plan, struct Transform t)
{
    for (t.in_place = 0; t.in_place < 2; t.in_place++)
        for (t.direction = -1; t.direction < 2; t.direction += 2)
            compare(plan, t);
}

static void dimensions(int rank, int x, int y, int z)
{
    for (int i = 0; i < 6; i++) {
        cufftHandle plan;
        struct Transform t = {.type = types[i], .rank = rank, .n = {x, y, z}, .batch = 1};
        if (rank == 2)
            CHECK(cufftPlan2d(&plan, x, y, types[i]));
        else
            CHECK(cufftPlan3d(&plan, x, y, z, types[i]));
        both_places(plan, t);
        t.batch = 3;
        CHECK(cufftDestroy(plan));
        CHECK(cufftPlanMany(&plan, rank, t.n, NULL, 0, 0, NULL, 0, 0, types[i], t.batch));
        both_places(plan, t);
        CHECK(cufftDestroy(plan));
    }
}

static void layout(struct Transform t)
{
    for (int i = 0; i < 6; i++) {
        cufftHandle plan;
        t.type = types[i];
        CHECK(cufftPlanMany(&plan, t.rank, t.n, t.in.sizes, t.in.stride, t.in.distance, t.out.sizes, t.out.stride,
                            t.out.distance, t.type, t.batch));
        t.direction = FORWARD;
        compare(plan, t);
        if (t.type == C2C || t.type == Z2Z) {
            t.direction = INVERSE;
            compare(plan, t);
        }
        CHECK(cufftDestroy(plan));
    }
}

/* Columns of a matrix become rows within one array. */
static void transposed(void)
{
    struct Transform t = {.type = C2C, .rank = 1, .n = {12, 1, 1}, .batch = 12, .direction = FORWARD, .in_place = 1};
    t.in = (struct Layout){{12}, 12, 1};
    t.out = (struct Layout){{12}, 1, 12};
    cufftHandle plan;
    CHECK(cufftPlanMany(&plan, 1, t.n, t.in.sizes, 12, 1, t.out.sizes, 1, 12, C2C, 12));
    compare(plan, t);
    CHECK(cufftDestroy(plan));
}

static void work_areas(void)
{
    cufftHandle plan;
    size_t bytes, estimate;
    void *area;
    struct Transform t = {.type = C2C, .rank = 1, .n = {6000, 1, 1}, .batch = 2, .direction = FORWARD};
    CHECK(cufftCreate(&plan));
    CHECK(cufftSetAutoAllocation(plan, 0));
    CHECK(cufftMakePlan1d(plan, 6000, C2C, 2, &bytes));
    CHECK(cufftEstimate1d(6000, C2C, 2, &estimate));
    if (bytes == 0 || bytes != estimate)
        printf("work area of %zu bytes, estimated %zu\n", bytes, estimate);
    CHECK(cudaMalloc(&area, bytes));
    if (cufftExecC2C(plan, area, (char *)area + 16, FORWARD) != 13)
        printf("a plan runs without its work area\n");
    CHECK(cufftSetWorkArea(plan, area));
    compare(plan, t);
    CHECK(cufftDestroy(plan));
    CHECK(cudaFree(area));
}

static void typed(int in, int out, int type)
{
    enum { C_32F = 4, C_64F = 5 };
    cufftHandle plan;
    size_t bytes;
    long long n[] = {10, 22};
    struct Transform t = {.type = type, .rank = 2, .n = {10, 22, 1}, .batch = 4, .direction = FORWARD};
    CHECK(cufftCreate(&plan));
    CHECK(cufftXtMakePlanMany(plan, 2, n, NULL, 1, 1, in, NULL, 1, 1, out, 4, &bytes,
                              is_double(type) ? C_64F : C_32F));
    compare(plan, t);
    CHECK(cufftDestroy(plan));
}

static void captured(void)
{
    enum { N = 32 };
    float host[2 * N] = {[6] = 1};
    void *device, *graph, *executable;
    cudaStream_t stream;
    cufftHandle plan;
    CHECK(cufftPlan1d(&plan, N, C2C, 1));
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cufftSetStream(plan, stream));
    CHECK(cudaStreamBeginCapture(stream, 0));
    CHECK(cufftExecC2C(plan, device, device, FORWARD));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    /* Two transforms reverse the order, times the length. */
    for (int i = 0; i < N; i++)
        if (fabs(host[2 * i] - (i == N - 3 ? N : 0)) > 1e-4 || fabs(host[2 * i + 1]) > 1e-4)
            printf("captured: element %d is %g, %g\n", i, host[2 * i], host[2 * i + 1]);
    CHECK(cufftDestroy(plan));
}

int main(void)
{
    dimensions(2, 6, 10, 1);
    dimensions(2, 13, 16, 1);
    dimensions(2, 1, 5, 1);
    dimensions(2, 3, 2100, 1);
    dimensions(2, 2058, 2, 1);
    dimensions(3, 4, 6, 9);
    dimensions(3, 11, 2, 7);
    layout((struct Transform){.rank = 1, .n = {20, 1, 1}, .batch = 5, .in = {{20}, 5, 1}, .out = {{20}, 7, 1}});
    layout((struct Transform){.rank = 1, .n = {22, 1, 1}, .batch = 3, .in = {{22}, 2, 50}, .out = {{22}, 3, 70}});
    layout((struct Transform){
        .rank = 2, .n = {6, 14, 1}, .batch = 2, .in = {{7, 16}, 2, 230}, .out = {{6, 15}, 3, 300}});
    layout((struct Transform){
        .rank = 3, .n = {3, 4, 10}, .batch = 2, .in = {{3, 5, 12}, 1, 190}, .out = {{4, 4, 11}, 2, 400}});
    transposed();
    work_areas();
    typed(4, 4, C2C);
    typed(0, 4, R2C);
    typed(4, 0, C2R);
    typed(5, 5, Z2Z);
    typed(1, 5, D2Z);
    typed(5, 1, Z2D);
    captured();
    return 0;
}
