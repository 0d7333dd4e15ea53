// Two sorts: a bitonic sort, whose steps compare fixed
// pairs, and a stable radix sort with four bits per step.
#include "check.h"

#include <algorithm>
#include <climits>

// One step of the bitonic network: pairs at `distance`, in runs of `run` with alternating direction.
__global__ void bitonic_step(unsigned *keys, int run, int distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other <= i) return;
    bool ascending = (i & run) == 0;
    if ((keys[i] > keys[other]) == ascending) {
        unsigned t = keys[i];
        keys[i] = keys[other];
        keys[other] = t;
    }
}

static std::vector<unsigned> bitonic_sort(std::vector<unsigned> keys) {
    size_t count = keys.size(), padded = 256;
    while (padded < count) padded *= 2;
    keys.resize(padded, UINT_MAX);
    DeviceArray<unsigned> device_keys(keys);
    for (size_t run = 2; run <= padded; run *= 2)
        for (size_t distance = run / 2; distance > 0; distance /= 2)
            bitonic_step<<<padded / 256, 256>>>(device_keys, int(run), int(distance));
    CHECK_KERNEL();
    keys = device_keys.download();
    keys.resize(count);
    return keys;
}

constexpr int digits = 16, threads = 128;

__device__ int digit_of(unsigned key, int shift) { return key >> shift & (digits - 1); }

// Counts the keys of each digit in every block, ordered by digit.
__global__ void count_digits(const unsigned *keys, int count, int shift, int *counts) {
    __shared__ int of_block[digits];
    if (threadIdx.x < digits) of_block[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * threads + threadIdx.x;
    if (i < count) atomicAdd(&of_block[digit_of(keys[i], shift)], 1);
    __syncthreads();
    if (threadIdx.x < digits) counts[threadIdx.x * gridDim.x + blockIdx.x] = of_block[threadIdx.x];
}

// Exclusive prefix sums by one block.
__global__ void scan_counts(int *counts, int count) {
    __shared__ int sums[threads];
    int per_thread = (count + threads - 1) / threads, first = threadIdx.x * per_thread, sum = 0;
    for (int i = first; i < min(first + per_thread, count); ++i) sum += counts[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    int before = 0;
    for (int t = 0; t < threadIdx.x; ++t) before += sums[t];
    for (int i = first; i < min(first + per_thread, count); ++i) {
        int own = counts[i];
        counts[i] = before;
        before += own;
    }
}

// Moves each key with its index after the keys of smaller digits, then
// of earlier blocks, then of the same digit before it in the block.
__global__ void scatter(const unsigned *keys, const int *indices, int count, int shift, const int *places, unsigned *out_keys, int *out_indices) {
    __shared__ unsigned char digit[threads];
    int i = blockIdx.x * threads + threadIdx.x;
    digit[threadIdx.x] = i < count ? digit_of(keys[i], shift) : digits;
    __syncthreads();
    if (i >= count) return;
    int before = 0;
    for (int t = 0; t < threadIdx.x; ++t) before += digit[t] == digit[threadIdx.x];
    int place = places[digit[threadIdx.x] * gridDim.x + blockIdx.x] + before;
    out_keys[place] = keys[i];
    out_indices[place] = indices[i];
}

static void radix_sort(std::vector<unsigned> &keys, std::vector<int> &indices) {
    int count = int(keys.size()), blocks = (count + threads - 1) / threads;
    DeviceArray<unsigned> first(keys), second(count);
    DeviceArray<int> first_indices(indices), second_indices(count), counts(digits * blocks);
    unsigned *from = first, *to = second;
    int *from_indices = first_indices, *to_indices = second_indices;
    for (int shift = 0; shift < 32; shift += 4) {
        count_digits<<<blocks, threads>>>(from, count, shift, counts);
        scan_counts<<<1, threads>>>(counts, digits * blocks);
        scatter<<<blocks, threads>>>(from, from_indices, count, shift, counts, to, to_indices);
        std::swap(from, to);
        std::swap(from_indices, to_indices);
    }
    CHECK_KERNEL();
    keys = first.download();
    indices = first_indices.download();
}

int main() {
    std::vector<unsigned> keys = random_values<unsigned>(5000, 0, UINT_MAX), wanted = keys;
    std::sort(wanted.begin(), wanted.end());
    compare("bitonic", bitonic_sort(keys), wanted);

    // Few distinct keys make the order of equal ones visible.
    keys = random_values<unsigned>(12345, 0, 999);
    for (unsigned &key : keys) key *= 4000037;
    std::vector<int> indices(keys.size()), wanted_indices(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) indices[i] = wanted_indices[i] = int(i);
    std::stable_sort(wanted_indices.begin(), wanted_indices.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    wanted = keys;
    std::sort(wanted.begin(), wanted.end());
    radix_sort(keys, indices);
    compare("radix keys", keys, wanted);
    compare("radix indices", indices, wanted_indices);
    return finish();
}
