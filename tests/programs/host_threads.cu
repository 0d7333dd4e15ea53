// Several host threads launch and copy concurrently in separate streams; each thread has its own last error.
#include "check.h"

#include <thread>

__global__ void square(const int *in, int *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] * in[i];
}

static void work(int seed, int *wrong) {
    const int count = 3000;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int round = 0; round < 5; ++round) {
        std::vector<int> values = random_values<int>(count, -1000, 1000, seed + round), got(count);
        DeviceArray<int> in(count), out(count);
        CHECK(cudaMemcpyAsync(in, values.data(), in.bytes(), cudaMemcpyHostToDevice, stream));
        square<<<(count + 127) / 128, 128, 0, stream>>>(in, out, count);
        CHECK(cudaMemcpyAsync(got.data(), out, out.bytes(), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < count; ++i) *wrong += got[i] != values[i] * values[i];
    }
    CHECK(cudaStreamDestroy(stream));
}

int main() {
    int wrong[4] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(work, 100 * t, &wrong[t]);
    for (std::thread &thread : threads) thread.join();
    for (int count : wrong) EXPECT(count == 0);

    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(1000));
    cudaError_t other = cudaErrorUnknown;
    std::thread([&] { other = cudaGetLastError(); }).join();
    EXPECT(other == cudaSuccess);
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaPeekAtLastError());
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaGetLastError());
    EXPECT_ERROR(cudaSuccess, cudaGetLastError());
    return finish();
}
