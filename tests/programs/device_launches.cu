//@ flags: -rdc=true
//@ link: -lcudadevrt
// Kernels that launch kernels: parameters, device streams and events, tail launches, nesting, copies and fills, errors.
#include "check.h"

#include <algorithm>
#include <cstring>

__device__ int order[16], order_count;

__global__ void note(int what) {
    if (threadIdx.x == 0) order[atomicAdd(&order_count, 1)] = what;
}

// Quicksort: each level launches the next for both halves, which read the data written by this level.
__global__ void quicksort(unsigned *keys, int left, int right) {
    if (right - left < 8) {
        for (int i = left + 1; i <= right; ++i)
            for (int j = i; j > left && keys[j - 1] > keys[j]; --j) {
                unsigned key = keys[j];
                keys[j] = keys[j - 1];
                keys[j - 1] = key;
            }
        return;
    }
    unsigned pivot = keys[(left + right) / 2];
    int i = left, j = right;
    while (i <= j) {
        while (keys[i] < pivot) ++i;
        while (keys[j] > pivot) --j;
        if (i <= j) {
            unsigned key = keys[i];
            keys[i++] = keys[j];
            keys[j--] = key;
        }
    }
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    if (left < j) quicksort<<<1, 1, 0, other>>>(keys, left, j);
    if (i < right) quicksort<<<1, 1>>>(keys, i, right);
    cudaStreamDestroy(other);
}

struct Mixed {
    char a;
    double b;
    short c[3];
};

__global__ void add_mixed(Mixed mixed, int factor, double *sum) {
    extern __shared__ double cells[];
    cells[threadIdx.x] = mixed.b * factor + mixed.a + mixed.c[threadIdx.x % 3];
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < blockDim.x; ++i) atomicAdd(sum, cells[i]);
}

// Each thread of every CTA launches its own grid.
__global__ void launch_many(double *sum) {
    Mixed mixed = {char(threadIdx.x), 0.5, {1, 2, 3}};
    add_mixed<<<dim3(2, 1, 1), dim3(3, 1, 1), 3 * sizeof(double)>>>(mixed, blockIdx.x + 1, sum);
}

// The tail launch runs last, and a stream's work runs in order.
__global__ void ordered() {
    note<<<1, 32, 0, cudaStreamTailLaunch>>>(9);
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    note<<<1, 32, 0, stream>>>(1);
    note<<<1, 32, 0, stream>>>(2);
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(0, event, 0);
    note<<<1, 32>>>(3);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
}

__global__ void fire_and_forget(int *flag) {
    note<<<1, 1, 0, cudaStreamFireAndForget>>>(4);
    if (blockIdx.x == 0) *flag = cudaGetLastError() == cudaSuccess;
}

__global__ void copies(char *to, const char *from) {
    cudaMemcpyAsync(to, from, 100, cudaMemcpyDeviceToDevice, 0);
    cudaMemset2DAsync(to + 4, 16, 7, 3, 5, 0);
    cudaMemcpy2DAsync(to + 200, 20, from, 10, 10, 5, cudaMemcpyDeviceToDevice, 0);
}

// Stores the results of calls in `errors`.
__global__ void wrong(int *errors, char *memory) {
    note<<<1, 2048>>>(0);  // too many threads
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
    errors[3] = cudaMemcpyAsync(memory, memory + 16, 16, cudaMemcpyHostToDevice, 0);
    cudaStream_t stream;
    errors[4] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
    errors[5] = cudaStreamDestroy((cudaStream_t)0x1234560);
    cudaEvent_t event;
    errors[6] = cudaEventCreateWithFlags(&event, cudaEventDefault);
    errors[7] = cudaMemsetAsync(memory, 0, size_t(1) << 40, 0);
}

// Each level launches the next until a launch fails.
__global__ void nest(int level, int *deepest, int *error) {
    *deepest = level;
    nest<<<1, 1>>>(level + 1, deepest, error);
    cudaError_t result = cudaGetLastError();
    if (result != cudaSuccess) *error = result;
}

__global__ void queries(int *found) {
    int device = -1, value = 0, resident = 0;
    size_t heap = 0;
    cudaFuncAttributes attributes;
    cudaGetDevice(&device);
    found[0] = device;
    found[1] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device);
    found[2] = value;
    found[3] = cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
    found[4] = int(heap >> 20);
    found[5] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, nest, 1024, 0);
    found[6] = resident;
    found[7] = cudaFuncGetAttributes(&attributes, add_mixed);
    found[8] = attributes.maxThreadsPerBlock;
    void *block = nullptr;
    found[9] = cudaMalloc(&block, 256);
    memset(block, 5, 256);
    found[10] = static_cast<char *>(block)[255];
    found[11] = cudaFree(block);
    const char *text = cudaGetErrorString(cudaErrorInvalidValue);
    found[12] = text[0];
    printf("%s\n", cudaGetErrorName(cudaErrorInvalidValue));
}

std::vector<int> noted() {
    int count, values[16];
    CHECK(cudaMemcpyFromSymbol(&count, order_count, sizeof count));
    CHECK(cudaMemcpyFromSymbol(values, order, sizeof values));
    const int none = 0;
    CHECK(cudaMemcpyToSymbol(order_count, &none, sizeof none));
    return std::vector<int>(values, values + count);
}

int main() {
    std::vector<unsigned> keys(1000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = unsigned(i * 2654435761u) >> 8;
    DeviceArray<unsigned> device_keys(keys);
    quicksort<<<1, 1>>>(device_keys, 0, int(keys.size()) - 1);
    CHECK(cudaDeviceSynchronize());
    std::sort(keys.begin(), keys.end());
    EXPECT(device_keys.download() == keys);

    // sum over CTAs f = 1..2, threads t = 0..7, 2 CTAs of 3 threads: 0.5 f + t + (1 + 2 + 3) / 3
    DeviceArray<double> sum(std::vector<double>(1, 0));
    launch_many<<<2, 8>>>(sum);
    CHECK(cudaDeviceSynchronize());
    double wanted = 0;
    for (int f = 1; f <= 2; ++f)
        for (int t = 0; t < 8; ++t) wanted += 2 * (3 * (0.5 * f + t) + 6);
    EXPECT(sum.download()[0] == wanted);

    ordered<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    std::vector<int> notes = noted();
    EXPECT((notes == std::vector<int>{1, 2, 3, 9}));

    // The host's next launch runs after all children.
    DeviceArray<int> flag(1);
    fire_and_forget<<<3, 1>>>(flag);
    note<<<1, 1>>>(5);
    CHECK(cudaDeviceSynchronize());
    notes = noted();
    EXPECT((notes == std::vector<int>{4, 4, 4, 5}));
    EXPECT(flag.download()[0] == 1);

    std::vector<char> source(100);
    for (int i = 0; i < 100; ++i) source[i] = char(i + 20);
    DeviceArray<char> from(source), to(std::vector<char>(400, 0));
    copies<<<1, 1>>>(to, from);
    CHECK(cudaDeviceSynchronize());
    std::vector<char> copied = to.download();
    std::vector<char> wanted_bytes(400, 0);
    for (int i = 0; i < 100; ++i) {
        bool filled = i >= 4 && (i - 4) / 16 < 5 && (i - 4) % 16 < 3;
        wanted_bytes[i] = filled ? 7 : source[i];
    }
    for (int row = 0; row < 5; ++row)
        for (int i = 0; i < 10; ++i) wanted_bytes[200 + 20 * row + i] = source[10 * row + i];
    EXPECT(copied == wanted_bytes);

    DeviceArray<int> errors(8);
    wrong<<<1, 1>>>(errors, to);
    CHECK(cudaDeviceSynchronize());
    std::vector<int> code = errors.download();
    EXPECT(code[0] == cudaErrorInvalidConfiguration);
    EXPECT(code[1] == cudaErrorInvalidConfiguration);
    EXPECT(code[2] == cudaSuccess);
    EXPECT(code[3] == cudaErrorInvalidMemcpyDirection);
    EXPECT(code[4] == cudaErrorInvalidValue);
    EXPECT(code[5] == cudaErrorInvalidResourceHandle);
    EXPECT(code[6] == cudaErrorInvalidValue);
    EXPECT(code[7] == cudaErrorInvalidValue);

    DeviceArray<int> depth(std::vector<int>(2, 0));
    nest<<<1, 1>>>(1, depth, static_cast<int *>(depth) + 1);
    CHECK(cudaDeviceSynchronize());
    EXPECT(depth.download()[0] == 24);
    EXPECT(depth.download()[1] == cudaErrorLaunchMaxDepthExceeded);

    DeviceArray<int> found(13);
    queries<<<1, 1>>>(found);
    CHECK(cudaDeviceSynchronize());
    std::vector<int> answers = found.download();
    int resident;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, nest, 1024, 0));
    std::vector<int> expected = {0, 0, 32, 0, 8, 0, resident, 0, answers[8], 0, 5, 0, 'i'};
    EXPECT(answers == expected);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, add_mixed));
    EXPECT(answers[8] == attributes.maxThreadsPerBlock);
    return finish();
}
