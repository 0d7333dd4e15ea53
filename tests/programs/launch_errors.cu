// Invalid launches: sizes beyond the limits, too much shared memory, too many
// threads for the kernel, a function that is not a kernel. None is sticky.
#include "check.h"

__global__ void write_index(int *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }

__global__ void __launch_bounds__(128) at_most_128(int *out) { out[threadIdx.x] = threadIdx.x; }

static void no_kernel(int *) {}

static void refused(cudaError_t wanted, const char *what, dim3 grid, dim3 block, size_t shared, int *out) {
    write_index<<<grid, block, shared>>>(out);
    cudaError_t got = cudaGetLastError();
    if (got == wanted) return;
    std::printf("%s: got %s, want %s\n", what, cudaGetErrorName(got), cudaGetErrorName(wanted));
    ++failures;
}

int main() {
    DeviceArray<int> out(2048);
    out.fill(0xff);
    const cudaError_t configuration = cudaErrorInvalidConfiguration;
    refused(configuration, "no blocks", 0, 32, 0, out);
    refused(configuration, "no threads", 1, 0, 0, out);
    refused(configuration, "1025 threads", 1, 1025, 0, out);
    refused(configuration, "1056 threads in two dimensions", 1, dim3(33, 32), 0, out);
    refused(configuration, "65 threads deep", 1, dim3(1, 1, 65), 0, out);
    refused(configuration, "65536 blocks in y", dim3(1, 65536), 32, 0, out);
    refused(configuration, "65536 blocks in z", dim3(1, 1, 65536), 32, 0, out);
    refused(configuration, "2^31 blocks", 0x80000000u, 32, 0, out);
    refused(cudaErrorInvalidValue, "more than 48 KB of shared memory", 1, 32, 49153, out);

    // More threads than the kernel was compiled for.
    at_most_128<<<1, 256>>>(out);
    cudaError_t error = cudaGetLastError();
    EXPECT(error == cudaErrorInvalidValue || error == cudaErrorLaunchOutOfResources);

    int *argument = out;
    void *arguments[] = {&argument};
    EXPECT_ERROR(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)no_kernel, dim3(1), dim3(1), arguments, 0, 0));
    EXPECT_ERROR(cudaErrorInvalidDeviceFunction, cudaGetLastError());
    cudaFuncAttributes attributes;
    EXPECT_ERROR(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, (const void *)no_kernel));
    cudaGetLastError();

    // Nothing was written, and no error remains.
    CHECK(cudaDeviceSynchronize());
    compare("nothing written", out.download(), std::vector<int>(2048, -1));
    write_index<<<2, 1024>>>(out);
    CHECK_KERNEL();
    std::vector<int> wanted(2048);
    for (int i = 0; i < 2048; ++i) wanted[i] = i % 1024;
    compare("launch that is allowed", out.download(), wanted);

    // Errors of other calls, which are not sticky either.
    void *block;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMalloc(nullptr, 16));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree((void *)0x1234));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset((void *)0x1234, 0, 4));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(64));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaGetLastError());
    CHECK(cudaMalloc(&block, 0));
    EXPECT(block == nullptr);
    CHECK(cudaGetLastError());
    return finish();
}
