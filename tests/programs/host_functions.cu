// Host functions in a stream: they run after earlier work and delay later work.
#include "check.h"

#include <atomic>
#include <chrono>
#include <thread>

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }

struct Job {
    int *pinned;
    int seen = 0;
    std::thread::id thread;
    std::atomic<bool> done{false};
};

static void CUDART_CB look_and_change(void *argument) {
    Job *job = static_cast<Job *>(argument);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    job->seen = job->pinned[5];
    for (int i = 0; i < 32; ++i) job->pinned[i] = 1000 + i;
    job->thread = std::this_thread::get_id();
    job->done = true;
}

static int callbacks;

static void CUDART_CB count_callback(cudaStream_t, cudaError_t status, void *argument) {
    if (status == cudaSuccess && argument == &callbacks) ++callbacks;
}

int main() {
    Job job;
    CHECK(cudaMallocHost(&job.pinned, 32 * sizeof(int)));
    DeviceArray<int> data(32);
    data.fill(0);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    add<<<1, 32, 0, stream>>>(data, 7);
    CHECK(cudaMemcpyAsync(job.pinned, data, 32 * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, look_and_change, &job));
    CHECK(cudaMemcpyAsync(data, job.pinned, 32 * sizeof(int), cudaMemcpyHostToDevice, stream));
    add<<<1, 32, 0, stream>>>(data, 1);
    for (int i = 0; i < 3; ++i) CHECK(cudaStreamAddCallback(stream, count_callback, &callbacks, 0));
    CHECK(cudaStreamSynchronize(stream));

    EXPECT(job.done && job.seen == 7);
    EXPECT(job.thread != std::this_thread::get_id());
    EXPECT(callbacks == 3);
    std::vector<int> wanted(32);
    for (int i = 0; i < 32; ++i) wanted[i] = 1001 + i;
    compare("after the host function", data.download(), wanted);
    CHECK(cudaFreeHost(job.pinned));
    CHECK(cudaStreamDestroy(stream));
    return finish();
}
