/* A launch buffer that ends before the kernel's last parameter is refused by launches and by nodes of graphs; a longer one is
 * taken. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

typedef struct {
    CUfunction func; unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared; void **params, **extra;
    void *kern, *ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct { void *func; dim3 grid, block; unsigned shared; void **params, **extra; } cudaKernelNodeParams;
int cuGraphCreate(void **, unsigned);
int cuGraphDestroy(void *);
int cuGraphAddKernelNode_v2(void **, void *, void **, size_t, const CUDA_KERNEL_NODE_PARAMS *);
int cuGraphKernelNodeSetParams_v2(void *, const CUDA_KERNEL_NODE_PARAMS *);
int cudaGraphCreate(void **, unsigned);
int cudaGraphDestroy(void *);
int cudaGraphAddKernelNode(void **, void *, void **, size_t, const cudaKernelNodeParams *);

static void add_one(void) {}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr device;
    unsigned numbers[8] = {0};
    struct { CUdeviceptr numbers; unsigned count, more; } block = {0, 8, 0};
    size_t size;
    void *extra[] = {(void *)1, &block, (void *)2, &size, NULL}, *without_size[] = {(void *)1, &block, NULL};
    void *graph, *node;
    dim3 one = {1, 1, 1}, eight = {8, 1, 1};

    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&function, module, "add_one"));
    OK(cuMemAlloc_v2(&device, sizeof numbers));
    OK(cuMemcpyHtoD_v2(device, numbers, sizeof numbers));
    block.numbers = device;

    CUDA_KERNEL_NODE_PARAMS driver = {function, 1, 1, 1, 8, 1, 1, 0, NULL, extra, NULL, NULL};
    cudaKernelNodeParams runtime = {add_one, one, eight, 0, NULL, extra};
    OK(cuGraphCreate(&graph, 0));
    /* A pointer and a number of four bytes. */
    for (size = 0; size < 12; ++size) {
        EXPECT(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra), cudaErrorInvalidValue);
        EXPECT(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &driver), cudaErrorInvalidValue);
        EXPECT(cudaGraphAddKernelNode(&node, graph, NULL, 0, &runtime), cudaErrorInvalidValue);
    }
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, without_size), cudaErrorInvalidValue);
    for (size = 12; size <= 16; size += 4) {
        OK(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
        OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &driver));
        OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &runtime));
    }
    size = 11;
    EXPECT(cuGraphKernelNodeSetParams_v2(node, &driver), cudaErrorInvalidValue);
    OK(cuGraphDestroy(graph));
    OK(cuMemcpyDtoH_v2(numbers, device, sizeof numbers));
    EXPECT(numbers[7], 2);
    OK(cuCtxDestroy_v2(context));
    return 0;
}
