// Per-thread arrays that are indexed at run time, passed by address, and contain structs.
#include "check.h"

#include <algorithm>

struct Item {
    float key;
    short index;
    unsigned char tag;
};

__device__ __noinline__ void exchange(Item *a, Item *b) {
    Item t = *a;
    *a = *b;
    *b = t;
}

constexpr int length = 24;

// Each thread sorts its own short list.
__global__ void sort_own(const float *keys, float *sorted, int *order, int lists) {
    int list = blockIdx.x * blockDim.x + threadIdx.x;
    if (list >= lists) return;
    Item items[length];
    for (int i = 0; i < length; ++i) items[i] = {keys[list * length + i], short(i), (unsigned char)(i * 3)};
    for (int i = 1; i < length; ++i)
        for (int j = i; j > 0 && items[j].key < items[j - 1].key; --j) exchange(&items[j], &items[j - 1]);
    for (int i = 0; i < length; ++i) {
        sorted[list * length + i] = items[i].key;
        order[list * length + i] = items[i].index * 1000 + items[i].tag;
    }
}

// A table of counts, indexed by data.
__global__ void most_frequent(const int *data, int per_thread, int *winners, int threads) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    unsigned short counts[100] = {};
    for (int i = 0; i < per_thread; ++i) ++counts[data[t * per_thread + i]];
    int best = 0;
    for (int i = 1; i < 100; ++i)
        if (counts[i] > counts[best]) best = i;
    winners[t] = best * 1000 + counts[best];
}

int main() {
    const int lists = 200;
    std::vector<float> keys = random_values<float>(lists * length, 0, 1), sorted = keys;
    std::vector<int> order(lists * length);
    for (int list = 0; list < lists; ++list) {
        std::vector<int> indices(length);
        for (int i = 0; i < length; ++i) indices[i] = i;
        const float *own = &keys[list * length];
        std::stable_sort(indices.begin(), indices.end(), [&](int a, int b) { return own[a] < own[b]; });
        for (int i = 0; i < length; ++i) {
            sorted[list * length + i] = own[indices[i]];
            order[list * length + i] = indices[i] * 1000 + (unsigned char)(indices[i] * 3);
        }
    }
    DeviceArray<float> device_keys(keys), device_sorted(lists * length);
    DeviceArray<int> device_order(lists * length);
    sort_own<<<2, 128>>>(device_keys, device_sorted, device_order, lists);
    CHECK_KERNEL();
    compare("sorted", device_sorted.download(), sorted);
    compare("order", device_order.download(), order);

    const int threads = 100, per_thread = 300;
    std::vector<int> data = random_values<int>(threads * per_thread, 0, 99), winners(threads);
    for (int t = 0; t < threads; ++t) {
        int counts[100] = {}, best = 0;
        for (int i = 0; i < per_thread; ++i) ++counts[data[t * per_thread + i]];
        for (int i = 1; i < 100; ++i)
            if (counts[i] > counts[best]) best = i;
        winners[t] = best * 1000 + counts[best];
    }
    DeviceArray<int> device_data(data), device_winners(threads);
    most_frequent<<<1, 128>>>(device_data, per_thread, device_winners, threads);
    CHECK_KERNEL();
    compare("most frequent", device_winners.download(), winners);
    return finish();
}
