//@ modes: shared
//@ link: -lcuda
// One program with both APIs: they share the primary context, memory, streams and the runtime's kernels.
#include "check.h"

#include <cuda.h>

__global__ void add(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += value;
}

int main() {
    const int count = 500;
    CHECK(cudaFree(nullptr));
    CUcontext context = nullptr;
    EXPECT(cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr);

    CUdeviceptr data;
    EXPECT(cuMemAlloc(&data, count * sizeof(int)) == CUDA_SUCCESS);
    EXPECT(cuMemsetD32(data, 40, count) == CUDA_SUCCESS);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    EXPECT(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    add<<<4, 128, 0, stream>>>((int *)data, count, 2);
    EXPECT(cuStreamSynchronize((CUstream)stream) == CUDA_SUCCESS);
    std::vector<int> got(count);
    CHECK(cudaMemcpy(got.data(), (void *)data, count * sizeof(int), cudaMemcpyDeviceToHost));
    compare("memory of the driver, kernel of the runtime", got, std::vector<int>(count, 42));

    // The runtime's kernel as a driver function.
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, (const void *)add));
    int the_count = count, value = 8;
    void *list[] = {&data, &the_count, &value};
    EXPECT(cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, nullptr, list, nullptr) == CUDA_SUCCESS);
    EXPECT(cuMemcpyDtoH(got.data(), data, count * sizeof(int)) == CUDA_SUCCESS);
    compare("kernel by driver function", got, std::vector<int>(count, 50));
    EXPECT(cuMemFree(data) == CUDA_SUCCESS);
    CHECK(cudaStreamDestroy(stream));
    return finish();
}
