// DRAM bandwidth by occupancy: an element per thread, CTAs of 32 to 1024 threads,
// two per SM (limited by shared memory). The difference between two sizes cancels
// launch and drain, after a launch that leaves the L2 in the same state.
#include "micro.h"

// Elements of each array, which exceeds the L2.
constexpr size_t SMALL = 1 << 20, LARGE = 2 << 20;

struct Init {
    static constexpr int arrays = 1;
    static constexpr const char *name = "init";
    __device__ static void element(double *a, const double *, const double *, const double *, size_t i) { a[i] = 0.23; }
};
struct Read {
    static constexpr int arrays = 1;
    static constexpr const char *name = "read";
    __device__ static void element(double *a, const double *b, const double *, const double *, size_t i) {
        if (b[i] == 123.0) a[i] = 0;
    }
};
struct Scale {
    static constexpr int arrays = 2;
    static constexpr const char *name = "scale";
    __device__ static void element(double *a, const double *b, const double *, const double *, size_t i) { a[i] = b[i] * 1.2; }
};
struct Triad {
    static constexpr int arrays = 4;
    static constexpr const char *name = "triad";
    __device__ static void element(double *a, const double *b, const double *c, const double *d, size_t i) {
        a[i] = b[i] * d[i] + c[i];
    }
};

template <class Kernel>
__global__ void stream(double *a, const double *__restrict__ b, const double *__restrict__ c, const double *__restrict__ d,
                       size_t count) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) Kernel::element(a, b, c, d, i);
}

template <class Kernel>
void measure(const std::vector<double *> &arrays, int threads) {
    // Two CTAs per SM: each takes slightly less than half of the shared memory; the rest goes to the L1.
    int shared = int(device().sharedMemPerMultiprocessor / 2 - device().reservedSharedMemPerBlock);
    CHECK(cudaFuncSetAttribute(stream<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    auto seconds = [&](size_t count) {
        return event_seconds([&] {
            stream<Kernel><<<unsigned(count / threads), threads, shared>>>(arrays[0], arrays[1], arrays[2], arrays[3], count);
        });
    };
    seconds(SMALL);
    double bytes = double(LARGE - SMALL) * sizeof(double) * Kernel::arrays;
    row(std::string("stream.") + Kernel::name + "_" + std::to_string(threads), bytes / (seconds(LARGE) - seconds(SMALL)) / 1e9,
        "GB/s");
}

int main(int count, char **arguments) {
    std::vector<int> sizes = {64, 128, 256, 512, 1024};
    if (count > 1) sizes = {std::atoi(arguments[1])};
    std::vector<double *> arrays(4);
    for (double *&array : arrays) {
        CHECK(cudaMalloc(&array, LARGE * sizeof(double)));
        CHECK(cudaMemset(array, 0, LARGE * sizeof(double)));
    }
    for (int threads : sizes) {
        measure<Init>(arrays, threads);
        measure<Read>(arrays, threads);
        measure<Scale>(arrays, threads);
        measure<Triad>(arrays, threads);
    }
    for (double *array : arrays) CHECK(cudaFree(array));
}
