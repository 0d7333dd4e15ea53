// CUB's radix sorts of every key type, ascending and descending, keys alone and pairs, by all and by
// some bits; segmented sorts; scans and reductions by key; partitions; extrema with their indices.
//@ long: minutes of instantiations
//@ modes: shared
#include "cub_storage.h"

#include <cub/cub.cuh>
#include <cuda/std/array>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

static const int count = 5000;

// Random keys without NaNs or zeros of two signs, which sort by their bits.
template <class Key>
static std::vector<Key> random_keys() {
    std::vector<uint64_t> words = random_values<uint64_t>(count, 0, ~0ull >> 1, 11);
    std::vector<Key> keys(count);
    for (int i = 0; i < count; ++i) {
        words[i] *= 0x9e3779b97f4a7c15ull;
        std::memcpy(&keys[i], &words[i], sizeof(Key));
        bool is_number = keys[i] == keys[i] && !(keys[i] == Key(0));
        if (!is_number) keys[i] = Key(1);
    }
    return keys;
}

template <class Key>
static std::vector<uint64_t> bits(const std::vector<Key> &keys) {
    std::vector<uint64_t> words(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) std::memcpy(&words[i], &keys[i], sizeof(Key));
    return words;
}

template <class Key>
static void sorts(const std::string &type) {
    std::vector<Key> keys = random_keys<Key>(), up = keys, down = keys;
    std::stable_sort(up.begin(), up.end(), [](Key a, Key b) { return a < b; });
    std::stable_sort(down.begin(), down.end(), [](Key a, Key b) { return b < a; });
    DeviceArray<Key> in(keys), out(count);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(storage, bytes, in.get(), out.get(), count);
    });
    compare((type + " up").c_str(), bits(out.download()), bits(up));
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeysDescending(storage, bytes, in.get(), out.get(), count);
    });
    compare((type + " down").c_str(), bits(out.download()), bits(down));

    std::vector<uint16_t> places(count);
    std::iota(places.begin(), places.end(), 0);
    DeviceArray<uint16_t> places_in(places), places_out(count);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(storage, bytes, in.get(), out.get(), places_in.get(), places_out.get(), count);
    });
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    compare((type + " places").c_str(), places_out.download(), places);
}

static void some_bits() {
    std::vector<uint32_t> keys = random_values<uint32_t>(count, 0, 0xffffffffu);
    DeviceArray<uint32_t> in(keys), out(count);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(storage, bytes, in.get(), out.get(), count, 5, 17);
    });
    std::stable_sort(keys.begin(), keys.end(), [](uint32_t a, uint32_t b) { return (a >> 5 & 0xfff) < (b >> 5 & 0xfff); });
    compare("bits 5 to 16", out.download(), keys);
}

static void segments() {
    std::vector<int> keys = random_values<int>(count, -1000, 1000);
    std::vector<int> borders = {0, 3, 3, 4, 40, 300, 1500, 4990, count};
    DeviceArray<int> in(keys), out(count), ends(borders);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceSegmentedSort::SortKeys(storage, bytes, in.get(), out.get(), count, int(borders.size()) - 1,
                                                  ends.get(), ends.get() + 1);
    });
    for (size_t i = 0; i + 1 < borders.size(); ++i) std::sort(&keys[0] + borders[i], &keys[0] + borders[i + 1]);
    compare("segments", out.download(), keys);
}

static void by_key() {
    std::vector<int> keys(count), values = random_values<int>(count, -50, 50), running(count), sums, unique;
    for (int i = 0; i < count; ++i) {
        keys[i] = i / (1 + i % 7 / 6 + i / 100);
        bool is_new = i == 0 || keys[i] != keys[i - 1];
        running[i] = values[i] + (is_new ? 0 : running[i - 1]);
        if (is_new) sums.push_back(0), unique.push_back(keys[i]);
        sums.back() += values[i];
    }
    DeviceArray<int> device_keys(keys), device_values(values), out(count), out_unique(count), runs(1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceScan::InclusiveSumByKey(storage, bytes, device_keys.get(), device_values.get(), out.get(), count);
    });
    compare("scan by key", out.download(), running);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceReduce::ReduceByKey(storage, bytes, device_keys.get(), out_unique.get(), device_values.get(), out.get(),
                                              runs.get(), cuda::std::plus<>(), count);
    });
    EXPECT(runs.download()[0] == int(sums.size()));
    std::vector<int> got = out.download(), got_unique = out_unique.download();
    got.resize(sums.size()), got_unique.resize(sums.size());
    compare("sums by key", got, sums);
    compare("keys", got_unique, unique);
}

struct Small {
    __host__ __device__ bool operator()(double x) const { return x < 0.3; }
};

static void doubles() {
    std::vector<double> values = random_values<double>(count, 0, 1), wanted;
    DeviceArray<double> in(values), out(count), extremum(1), total(1);
    DeviceArray<int> selected(1), place(1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DevicePartition::If(storage, bytes, in.get(), out.get(), selected.get(), count, Small());
    });
    std::copy_if(values.begin(), values.end(), std::back_inserter(wanted), Small());
    EXPECT(selected.download()[0] == int(wanted.size()));
    // The rejected elements are in reverse order.
    for (int i = count - 1; i >= 0; --i)
        if (!Small()(values[i])) wanted.push_back(values[i]);
    compare("partition", out.download(), wanted);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceReduce::ArgMax(storage, bytes, in.get(), extremum.get(), place.get(), count);
    });
    EXPECT(place.download()[0] == int(std::max_element(values.begin(), values.end()) - values.begin()));
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(storage, bytes, in.get(), out.get(), count);
    });
    wanted.assign(count, 0);
    for (int i = 1; i < count; ++i) wanted[i] = wanted[i - 1] + values[i - 1];
    compare("sums", out.download(), wanted, 1e-13);
}

static void pixels() {
    std::vector<unsigned char> samples = random_values<unsigned char>(4 * count, 0, 255);
    DeviceArray<unsigned char> in(samples);
    DeviceArray<int> red(64), green(64), blue(64);
    cuda::std::array<int *, 3> bins = {red.get(), green.get(), blue.get()};
    cuda::std::array<int, 3> levels = {65, 65, 65}, lower = {0, 0, 0}, upper = {256, 256, 256};
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceHistogram::MultiHistogramEven<4, 3>(storage, bytes, in.get(), bins, levels, lower, upper, count);
    });
    std::vector<int> wanted[3] = {std::vector<int>(64), std::vector<int>(64), std::vector<int>(64)};
    for (int i = 0; i < 4 * count; ++i)
        if (i % 4 < 3) ++wanted[i % 4][samples[i] / 4];
    compare("red", red.download(), wanted[0]);
    compare("green", green.download(), wanted[1]);
    compare("blue", blue.download(), wanted[2]);
}

int main() {
    sorts<signed char>("signed char");
    sorts<uint8_t>("uint8_t");
    sorts<short>("short");
    sorts<unsigned short>("unsigned short");
    sorts<int>("int");
    sorts<unsigned>("unsigned");
    sorts<long long>("long long");
    sorts<unsigned long long>("unsigned long long");
    sorts<__half>("half");
    sorts<__nv_bfloat16>("bfloat16");
    sorts<float>("float");
    sorts<double>("double");
    some_bits();
    segments();
    by_key();
    doubles();
    pixels();
    return finish();
}
