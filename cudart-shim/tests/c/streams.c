/* Streams and events: order, queries, host functions, elapsed time, errors of dead handles. */
#include "cuda_api.h"
#include <unistd.h>

static volatile int stage, seen;

static void slow(void *unused)
{
    (void)unused;
    usleep(20000);
    stage = 1;
}

static void look(void *unused)
{
    (void)unused;
    seen = stage;
}

static void call_cuda(void *result)
{
    void *pointer;
    *(int *)result = cudaMalloc(&pointer, 16);
}

int main(void)
{
    cudaStream_t first, second;
    cudaEvent_t start, end, untimed;
    float milliseconds;
    int result = 0;

    OK(cudaStreamCreateWithFlags(&first, 1));
    OK(cudaStreamCreateWithFlags(&second, 1));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, 2));
    OK(cudaEventQuery(start));

    OK(cudaEventRecord(start, first));
    OK(cudaLaunchHostFunc(first, slow, NULL));
    OK(cudaEventRecord(end, first));
    EXPECT(cudaStreamQuery(first), cudaErrorNotReady);
    EXPECT(cudaGetLastError(), cudaSuccess);
    OK(cudaStreamWaitEvent(second, end, 0));
    OK(cudaLaunchHostFunc(second, look, NULL));
    OK(cudaStreamSynchronize(second));
    EXPECT(seen, 1);
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT(milliseconds >= 15.0f, 1);

    OK(cudaEventRecord(untimed, first));
    OK(cudaEventSynchronize(untimed));
    EXPECT(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);

    OK(cudaLaunchHostFunc(first, call_cuda, &result));
    OK(cudaStreamSynchronize(first));
    EXPECT(result, cudaErrorNotPermitted);

    OK(cudaStreamDestroy(first));
    EXPECT(cudaStreamSynchronize(first), cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamSynchronize((cudaStream_t)end), cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(end));
    EXPECT(cudaEventRecord(end, second), cudaErrorInvalidResourceHandle);
    return 0;
}
