/* Launches beyond the device's limits and allocations beyond its memory are refused and leave nothing behind. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

static void add_one(void) {}

static int launch(dim3 grid, dim3 block, size_t shared)
{
    static unsigned *none;
    unsigned count = 0;
    void *arguments[] = {&none, &count};
    int error = cudaLaunchKernel(add_one, grid, block, arguments, shared, NULL);
    EXPECT(cudaGetLastError(), error);
    OK(cudaDeviceSynchronize());
    return error;
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    void *pointer, *blocks[64];
    size_t free_before, free_now, total, taken = 0;
    dim3 one = {1, 1, 1};

    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    EXPECT(launch((dim3){0, 1, 1}, one, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch((dim3){1u << 31, 1, 1}, one, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch((dim3){1, 65536, 1}, one, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch((dim3){1, 1, 65536}, one, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch(one, (dim3){0, 1, 1}, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch(one, (dim3){1025, 1, 1}, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch(one, (dim3){1, 1, 65}, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch(one, (dim3){64, 64, 1}, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch(one, (dim3){UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0), cudaErrorInvalidConfiguration);
    EXPECT(launch(one, one, (48 << 10) + 1), cudaErrorInvalidValue);
    EXPECT(launch(one, one, SIZE_MAX), cudaErrorInvalidValue);
    OK(launch((dim3){1, 65535, 1}, one, 0));
    OK(launch(one, (dim3){1024, 1, 1}, 48 << 10));

    OK(cudaMemGetInfo(&free_before, &total));
    EXPECT(cudaMalloc(&pointer, total + 1), cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT(cudaMalloc(&pointer, SIZE_MAX), cudaErrorMemoryAllocation);
    EXPECT(cudaMallocAsync(&pointer, total + 1, NULL), cudaErrorMemoryAllocation);
    while (taken < 64 && cudaMalloc(&blocks[taken], (size_t)1 << 30) == cudaSuccess)
        ++taken;
    EXPECT(taken, free_before >> 30);
    EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError(), cudaSuccess);
    OK(cudaMemset(blocks[0], 1, 100));
    while (taken > 0)
        OK(cudaFree(blocks[--taken]));
    OK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now, free_before);
    OK(cudaMalloc(&pointer, 1 << 20));
    OK(launch(one, one, 0));
    return 0;
}
