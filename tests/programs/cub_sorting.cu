//@ mistakes: the merge sort of CUB reads shared memory behind its keys, and uses nothing of it
// CUB's device-wide sorts against the host: radix sorts of keys and pairs in both directions,
// of floats, wide integers and segments, and the merge sort with a custom comparison.
//@ modes: shared
#include "cub_storage.h"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>

#include <algorithm>
#include <cstdint>
#include <numeric>

static const int count = 6000;

// Infinities and a subnormal number among ordinary ones.
static void floats() {
    std::vector<float> keys = random_values<float>(count, -1e3f, 1e3f);
    keys[17] = INFINITY, keys[4000] = -INFINITY, keys[99] = 1e-42f;
    DeviceArray<float> in(keys), out(count);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(storage, bytes, in.get(), out.get(), count);
    });
    std::sort(keys.begin(), keys.end());
    compare("floats", out.download(), keys);
}

static void pairs_descending() {
    std::vector<uint64_t> keys = random_values<uint64_t>(count, 0, 1ull << 62);
    for (int i = 0; i < count; i += 3) keys[i] >>= 55; // Equal keys keep their order.
    std::vector<int> places(count);
    std::iota(places.begin(), places.end(), 0);
    DeviceArray<uint64_t> in(keys), out(count);
    DeviceArray<int> places_in(places), places_out(count);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, in.get(), out.get(), places_in.get(),
                                                         places_out.get(), count);
    });
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return keys[a] > keys[b]; });
    std::sort(keys.rbegin(), keys.rend());
    compare("keys of pairs", out.download(), keys);
    compare("values of pairs", places_out.download(), places);
}

static void segments() {
    std::vector<short> keys = random_values<short>(count, -3000, 3000);
    const std::vector<int> borders = {0, 1, 1, 33, 1000, 5990, count};
    DeviceArray<short> in(keys), out(count);
    DeviceArray<int> ends(borders);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceSegmentedRadixSort::SortKeys(storage, bytes, in.get(), out.get(), count,
                                                       int(borders.size()) - 1, ends.get(), ends.get() + 1);
    });
    for (size_t i = 0; i + 1 < borders.size(); ++i) std::sort(&keys[0] + borders[i], &keys[0] + borders[i + 1]);
    compare("segments", out.download(), keys);
}

struct Fraction {
    int over, under;
};

struct Less {
    __host__ __device__ bool operator()(Fraction a, Fraction b) const {
        return (long long)a.over * b.under < (long long)b.over * a.under;
    }
};

static void merging() {
    std::vector<int> numbers = random_values<int>(2 * count, 1, 50);
    std::vector<Fraction> fractions(count);
    for (int i = 0; i < count; ++i) fractions[i] = {numbers[2 * i], numbers[2 * i + 1]};
    DeviceArray<Fraction> data(fractions);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceMergeSort::StableSortKeys(storage, bytes, data.get(), count, Less());
    });
    std::stable_sort(fractions.begin(), fractions.end(), Less());
    std::vector<int> got, wanted;
    for (Fraction fraction : data.download()) got.push_back(fraction.over * 100 + fraction.under);
    for (Fraction fraction : fractions) wanted.push_back(fraction.over * 100 + fraction.under);
    compare("fractions", got, wanted);
}

int main() {
    floats();
    pairs_descending();
    segments();
    merging();
    return finish();
}
