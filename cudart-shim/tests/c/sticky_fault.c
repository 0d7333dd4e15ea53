/* A wild store is a sticky error: every later call returns it, until the device is reset. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

static void wild(void) {}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    void *pointer;
    dim3 one = {1, 1, 1};

    __cudaRegisterFunction(handle, (char *)wild, "wild", "wild", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc(&pointer, 16));
    OK(cudaLaunchKernel(wild, one, one, NULL, 0, NULL));
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT(cudaMemcpy(pointer, &one, 4, cudaMemcpyHostToDevice), cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&pointer, 16), cudaErrorIllegalAddress);
    EXPECT(cudaFree(pointer), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    cudaGetLastError();
    EXPECT(cudaGetLastError(), cudaSuccess);
    OK(cudaMalloc(&pointer, 16));
    OK(cudaDeviceSynchronize());
    return 0;
}
