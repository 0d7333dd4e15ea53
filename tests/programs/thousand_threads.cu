// A thousand host threads use streams concurrently: a stream and a default stream
// per thread, events between them, stream-ordered memory, and host functions.
//@ flags: --default-stream per-thread
#include "check.h"

#include <atomic>
#include <thread>

__global__ void step(int *values, int count, int factor, int addend) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * factor + addend;
}

static std::atomic<int> called, wrong;

static void work(int number) {
    const int count = 200;
    cudaStream_t stream;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    int *values = nullptr;
    CHECK(cudaMallocAsync(&values, count * sizeof(int), stream));
    CHECK(cudaMemsetAsync(values, 0, count * sizeof(int), stream));
    step<<<2, 100, 0, stream>>>(values, count, 1, number);
    CHECK(cudaEventRecord(event, stream));
    // The default stream is per thread: it continues from the state of the other.
    CHECK(cudaStreamWaitEvent(cudaStreamPerThread, event, 0));
    step<<<2, 100>>>(values, count, 3, 1);
    CHECK(cudaLaunchHostFunc(cudaStreamPerThread, [](void *) { ++called; }, nullptr));
    std::vector<int> got(count);
    CHECK(cudaMemcpyAsync(got.data(), values, count * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    for (int value : got) wrong += value != 3 * number + 1;
    CHECK(cudaFreeAsync(values, stream));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
}

int main() {
    size_t before, after, total;
    CHECK(cudaMemGetInfo(&before, &total));
    std::vector<std::thread> threads;
    for (int number = 0; number < 1000; ++number) threads.emplace_back(work, number);
    for (std::thread &thread : threads) thread.join();
    EXPECT(called == 1000);
    EXPECT(wrong == 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(after == before);
    return finish();
}
