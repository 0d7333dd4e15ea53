/* Fills and copies within the device of several sizes; prints the milliseconds that events measure around each, a line each with
 * its name and size, then how many bytes are as they should be. With an argument, a launch of an empty kernel comes last. */
#include "../c/cuda_api.h"

typedef struct graph *cudaGraph_t;
typedef struct executable *cudaGraphExec_t;
int cudaMemsetAsync(void *, int, size_t, cudaStream_t);
int cudaMemset2DAsync(void *, size_t, int, size_t, size_t, cudaStream_t);
int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, cudaStream_t);
int cuMemsetD32Async(CUdeviceptr, unsigned, size_t, cudaStream_t);
int cudaStreamBeginCapture(cudaStream_t, int);
int cudaStreamEndCapture(cudaStream_t, cudaGraph_t *);
int cudaGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
int cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);

enum { LARGEST = 8 << 20, WIDTH = 1000, ROWS = 200, PITCH = 1536 };

static cudaStream_t streams[2];
static cudaEvent_t before, after, joined;
static char *to, *from, host[LARGEST];

static void begin(void)
{
    OK(cudaEventRecord(before, streams[0]));
    OK(cudaStreamWaitEvent(streams[1], before, 0));
}

static void end(const char *what, int size)
{
    float milliseconds;
    OK(cudaEventRecord(joined, streams[1]));
    OK(cudaStreamWaitEvent(streams[0], joined, 0));
    OK(cudaEventRecord(after, streams[0]));
    OK(cudaEventSynchronize(after));
    OK(cudaEventElapsedTime(&milliseconds, before, after));
    printf("%s.%d %.6f\n", what, size >> 10, milliseconds);
}

static void graph(void)
{
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    OK(cudaStreamBeginCapture(streams[0], 0));
    OK(cudaMemsetAsync(to, 1, LARGEST, streams[0]));
    OK(cudaMemcpyAsync(from, to, LARGEST, cudaMemcpyDeviceToDevice, streams[0]));
    OK(cudaStreamEndCapture(streams[0], &captured));
    OK(cudaGraphInstantiateWithFlags(&executable, captured, 0));
    begin(); OK(cudaGraphLaunch(executable, streams[0])); end("graph", LARGEST);
}

static void launch(void)
{
    CUmodule module;
    CUfunction empty;
    OK(cuModuleLoadData(&module, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n"));
    OK(cuModuleGetFunction(&empty, module, "empty"));
    OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, streams[0], NULL, NULL));
    OK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    int right = 0;

    OK(cudaMalloc((void **)&to, LARGEST));
    OK(cudaMalloc((void **)&from, LARGEST));
    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    OK(cudaEventCreate(&joined));
    for (int i = 0; i < 2; ++i)
        OK(cudaStreamCreateWithFlags(&streams[i], 1));
    begin(); end("nothing", 0);
    for (int size = 128 << 10; size <= LARGEST; size *= 8) {
        begin(); OK(cudaMemsetAsync(from, 7, size, streams[0])); end("fill", size);
        begin(); OK(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, streams[0])); end("copy", size);
    }
    begin(); OK(cuMemsetD32Async((CUdeviceptr)from, 0x01020304, LARGEST / 4, streams[0])); end("words", LARGEST);
    begin();
    OK(cudaMemset2DAsync(to, PITCH, 9, WIDTH, ROWS, streams[0]));
    end("fill2d", WIDTH * ROWS);
    begin();
    OK(cudaMemcpy2DAsync(to, PITCH, from, WIDTH, WIDTH, ROWS, cudaMemcpyDeviceToDevice, streams[0]));
    end("copy2d", WIDTH * ROWS);
    begin();
    OK(cudaMemsetAsync(to, 1, LARGEST, streams[0]));
    OK(cudaMemsetAsync(from, 2, LARGEST, streams[0]));
    end("after", 2 * LARGEST);
    begin();
    OK(cudaMemsetAsync(to, 3, 128 << 10, streams[0]));
    OK(cudaMemcpyAsync(host, from, 128 << 10, cudaMemcpyDeviceToHost, streams[1]));
    end("beside", 128 << 10);
    graph();
    OK(cudaMemcpy(host, from, LARGEST, cudaMemcpyDeviceToHost));
    for (int i = 0; i < LARGEST; ++i)
        right += host[i] == 1;
    printf("%d\n", right);
    (void)argv;
    if (argc > 1)
        launch();
    return 0;
}
