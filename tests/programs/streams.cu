// Streams are ordered internally; events order streams; the legacy
// default stream waits for and blocks blocking streams only.
#include "check.h"

__global__ void add(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}

__global__ void multiply(int *data, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] *= value;
}

static const int count = 4096;

static void expect_all(const char *what, const DeviceArray<int> &data, int value) {
    compare(what, data.download(), std::vector<int>(count, value));
}

static void within_a_stream() {
    cudaStream_t streams[4];
    DeviceArray<int> data[4] = {DeviceArray<int>(count), DeviceArray<int>(count), DeviceArray<int>(count), DeviceArray<int>(count)};
    for (cudaStream_t &stream : streams) CHECK(cudaStreamCreate(&stream));
    // Interleaved between streams, in order within each.
    for (int s = 0; s < 4; ++s) CHECK(cudaMemsetAsync(data[s], 0, data[s].bytes(), streams[s]));
    for (int step = 0; step < 5; ++step)
        for (int s = 0; s < 4; ++s) {
            add<<<8, 128, 0, streams[s]>>>(data[s], count, s + 1);
            multiply<<<8, 128, 0, streams[s]>>>(data[s], count, 2);
        }
    for (int s = 0; s < 4; ++s) {
        CHECK(cudaStreamSynchronize(streams[s]));
        EXPECT_ERROR(cudaSuccess, cudaStreamQuery(streams[s]));
        expect_all("order within a stream", data[s], 62 * (s + 1));  // v -> 2 (v + a), five times
        CHECK(cudaStreamDestroy(streams[s]));
    }
}

static void between_streams() {
    cudaStream_t producer, consumer;
    cudaEvent_t ready, taken;
    CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&taken, cudaEventDisableTiming));
    DeviceArray<int> data(count);
    CHECK(cudaMemsetAsync(data, 0, data.bytes(), producer));
    for (int round = 0; round < 6; ++round) {
        add<<<8, 128, 0, producer>>>(data, count, 1);
        CHECK(cudaEventRecord(ready, producer));
        CHECK(cudaStreamWaitEvent(consumer, ready, 0));
        multiply<<<8, 128, 0, consumer>>>(data, count, 3);
        CHECK(cudaEventRecord(taken, consumer));
        CHECK(cudaStreamWaitEvent(producer, taken, 0));
    }
    CHECK(cudaStreamSynchronize(consumer));
    expect_all("between streams", data, 1092);  // v -> 3 (v + 1), six times
    // An event that was never recorded blocks nothing.
    cudaEvent_t never;
    CHECK(cudaEventCreate(&never));
    CHECK(cudaStreamWaitEvent(producer, never, 0));
    CHECK(cudaStreamSynchronize(producer));
    CHECK(cudaEventDestroy(never));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaEventDestroy(taken));
    CHECK(cudaStreamDestroy(producer));
    CHECK(cudaStreamDestroy(consumer));
}

static void legacy_default_stream() {
    cudaStream_t first, second;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    DeviceArray<int> data(count);
    data.fill(0);
    add<<<8, 128, 0, first>>>(data, count, 5);
    multiply<<<8, 128>>>(data, count, 7);
    add<<<8, 128, 0, second>>>(data, count, 1);
    CHECK(cudaDeviceSynchronize());
    expect_all("default stream between", data, 36);
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
}

static void per_thread_default_stream() {
    DeviceArray<int> data(count);
    data.fill(0);
    add<<<8, 128, 0, cudaStreamPerThread>>>(data, count, 5);
    multiply<<<8, 128, 0, cudaStreamPerThread>>>(data, count, 5);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    expect_all("per-thread stream", data, 25);
}

static void priorities_and_flags() {
    int least, greatest, priority;
    unsigned flags;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetPriority(stream, &priority));
    CHECK(cudaStreamGetFlags(stream, &flags));
    EXPECT(priority == greatest && flags == cudaStreamNonBlocking);
    // The stream is destroyed while work is in flight, which still completes.
    DeviceArray<int> data(count);
    data.fill(0);
    CHECK(cudaDeviceSynchronize());
    add<<<8, 128, 0, stream>>>(data, count, 9);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaDeviceSynchronize());
    expect_all("destroyed early", data, 9);
}

int main() {
    within_a_stream();
    between_streams();
    legacy_default_stream();
    per_thread_default_stream();
    priorities_and_flags();
    return finish();
}
