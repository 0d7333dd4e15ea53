/* Launches of a kernel of one CTA that counts, and copies, in two streams and in one; prints the milliseconds that events measure around
 * each pair, then how many launches have counted, and how often a stream was asked that had two of them. With the argument "fault", a launch that faults beside a long one. */
#include "../c/cuda_api.h"

#define COUNTERS                                                                                              \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                                      \
    ".visible .entry count(.param .u64 result, .param .u32 limit) {\n"                                       \
    " .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<2>;\n"                                                   \
    " ld.param.u64 %d1, [result]; ld.param.u32 %r1, [limit]; mov.u32 %r2, 0;\n"                              \
    "again: xor.b32 %r3, %r2, 1; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra again;\n"            \
    " atom.global.add.u32 %r3, [%d1], %r2; ret; }\n"                                                         \
    ".visible .entry wild() { .reg .b64 %d<2>; .reg .b32 %r<2>;\n"                                           \
    " mov.u64 %d1, 16; mov.u32 %r1, 1; st.global.u32 [%d1], %r1; ret; }\n"

enum { LIMIT = 20000, BYTES = 1 << 20 };

static cudaStream_t streams[2];
static cudaEvent_t before, after, joined;
static CUfunction count, wild;
static CUdeviceptr result, buffers[2];
static char *host[2];

static void launch(cudaStream_t stream)
{
    unsigned limit = LIMIT;
    void *arguments[] = {&result, &limit};
    OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static void copy(int number, cudaStream_t stream)
{
    OK(cudaMemcpyAsync((void *)buffers[number], host[number], BYTES, cudaMemcpyHostToDevice, stream));
}

static void begin(void)
{
    OK(cudaEventRecord(before, streams[0]));
    OK(cudaStreamWaitEvent(streams[1], before, 0));
}

static void end(const char *what)
{
    float milliseconds;
    OK(cudaEventRecord(joined, streams[1]));
    OK(cudaStreamWaitEvent(streams[0], joined, 0));
    OK(cudaEventRecord(after, streams[0]));
    OK(cudaEventSynchronize(after));
    OK(cudaEventElapsedTime(&milliseconds, before, after));
    printf("%s %.6f\n", what, milliseconds);
}

int main(int argc, char **argv)
{
    CUmodule module;
    unsigned counted;
    int asked = 0;

    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, COUNTERS));
    OK(cuModuleGetFunction(&count, module, "count"));
    OK(cuModuleGetFunction(&wild, module, "wild"));
    OK(cuMemAlloc_v2(&result, sizeof counted));
    OK(cuMemsetD32_v2(result, 0, 1));
    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    OK(cudaEventCreate(&joined));
    for (int i = 0; i < 2; ++i) {
        OK(cudaStreamCreateWithFlags(&streams[i], 1));
        OK(cuMemAlloc_v2(&buffers[i], BYTES));
        OK(cudaMallocHost((void **)&host[i], BYTES));
    }
    if (argc > 1 && !strcmp(argv[1], "fault")) {
        launch(streams[0]);
        OK(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, streams[1], NULL, NULL));
        printf("%d\n", cudaDeviceSynchronize());
        return 0;
    }
    launch(streams[0]);
    OK(cudaStreamSynchronize(streams[0]));
    begin(); launch(streams[0]); end("one");
    begin(); launch(streams[0]); launch(streams[1]); end("two");
    begin(); launch(streams[0]); launch(streams[0]); end("after");
    begin(); copy(0, streams[0]); end("copy");
    begin(); copy(0, streams[0]); copy(1, streams[1]); end("copies");
    begin(); launch(streams[0]); copy(1, streams[1]); end("launch and copy");
    launch(streams[0]);
    launch(streams[0]);
    while (cudaStreamQuery(streams[0]) == cudaErrorNotReady)
        ++asked;
    OK(cudaDeviceSynchronize());
    OK(cuMemcpyDtoH_v2(&counted, result, sizeof counted));
    printf("counted %u asked %d\n", counted / LIMIT, asked);
    return 0;
}
