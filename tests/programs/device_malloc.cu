// malloc, free, new and delete on the device, memory that outlives its kernel, and a heap that is too small.
#include "check.h"

struct List {
    int value;
    List *next;
};

// Each thread builds its own list and leaves it for the next kernel.
__global__ void build(List **heads, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    List *head = nullptr;
    for (int n = 0; n < length + i % 3; ++n) {
        List *node = new List;
        *node = {i * 1000 + n, head};
        head = node;
    }
    heads[i] = head;
}

__global__ void sum_and_free(List **heads, long long *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long sum = 0;
    for (List *node = heads[i]; node;) {
        sum += node->value;
        List *next = node->next;
        delete node;
        node = next;
    }
    sums[i] = sum;
}

// A buffer for the block, of a size known only on the device.
__global__ void scratch(const int *sizes, int *out) {
    __shared__ int *buffer;
    int size = sizes[blockIdx.x];
    if (threadIdx.x == 0) buffer = (int *)malloc(size * sizeof(int));
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) buffer[i] = i;
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < size; i += blockDim.x) sum += buffer[size - 1 - i];
    atomicAdd(&out[blockIdx.x], sum);
    __syncthreads();
    if (threadIdx.x == 0) free(buffer);
}

__global__ void ask_too_much(int *got_null) {
    void *block = malloc(size_t(1) << 40);
    *got_null = block == nullptr;
    free(block);
}

int main() {
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    const int count = 192, length = 5;
    DeviceArray<List *> heads(count);
    DeviceArray<long long> sums(count);
    std::vector<long long> wanted(count);
    for (int i = 0; i < count; ++i)
        for (int n = 0; n < length + i % 3; ++n) wanted[i] += i * 1000 + n;
    // Freed memory is reused: otherwise 40 rounds would not fit.
    for (int round = 0; round < 40; ++round) {
        build<<<3, 64>>>(heads, length);
        sum_and_free<<<3, 64>>>(heads, sums);
        CHECK_KERNEL();
    }
    compare("lists", sums.download(), wanted);

    std::vector<int> sizes = random_values<int>(8, 1, 3000), totals(8);
    for (int b = 0; b < 8; ++b) totals[b] = sizes[b] * (sizes[b] - 1) / 2;
    DeviceArray<int> device_sizes(sizes), out(8), got_null(1);
    out.fill(0), got_null.fill(0);
    scratch<<<8, 96>>>(device_sizes, out);
    CHECK_KERNEL();
    compare("buffer of a block", out.download(), totals);

    ask_too_much<<<1, 1>>>(got_null);
    CHECK_KERNEL();
    compare("too much", got_null.download(), {1});
    return finish();
}
