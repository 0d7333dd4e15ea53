// CUB's device-wide scans, reductions, selections, histograms and run lengths, against the host.
//@ modes: shared
#include "cub_storage.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <numeric>

static const int count = 10000;

struct Affine {
    unsigned factor, summand;
};

// f after g; not commutative, so the order of operands matters.
struct Compose {
    __host__ __device__ Affine operator()(Affine g, Affine f) const {
        return {f.factor * g.factor, f.factor * g.summand + f.summand};
    }
};

static void scans() {
    std::vector<unsigned> numbers = random_values<unsigned>(2 * count, 0, 0xffffffffu);
    std::vector<Affine> functions(count);
    for (int i = 0; i < count; ++i) functions[i] = {numbers[2 * i] | 1, numbers[2 * i + 1]};
    DeviceArray<Affine> in(functions), out(count);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceScan::InclusiveScan(storage, bytes, in.get(), out.get(), Compose(), count);
    });
    std::vector<unsigned> got, wanted;
    Affine all{1, 0};
    for (Affine function : functions) {
        all = Compose()(all, function);
        wanted.insert(wanted.end(), {all.factor, all.summand});
    }
    for (Affine function : out.download()) got.insert(got.end(), {function.factor, function.summand});
    compare("scan", got, wanted);
}

static void reductions() {
    std::vector<float> values = random_values<float>(count, -100, 100);
    values[7777] = values[8888] = -101; // The first of equal ones wins.
    DeviceArray<float> in(values);
    DeviceArray<float> smallest(1);
    DeviceArray<int> place(1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceReduce::ArgMin(storage, bytes, in.get(), smallest.get(), place.get(), count);
    });
    EXPECT(smallest.download()[0] == -101 && place.download()[0] == 7777);

    DeviceArray<float> sum(1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceReduce::Sum(storage, bytes, in.get(), sum.get(), count);
    });
    double wanted = std::accumulate(values.begin(), values.end(), 0.0);
    EXPECT(std::fabs(sum.download()[0] - wanted) < 0.05);

    std::vector<int> integers = random_values<int>(count, -1000, 1000);
    const std::vector<int> borders = {0, 0, 5, 600, 9000, count};
    DeviceArray<int> device_integers(integers), ends(borders), largest(borders.size() - 1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceSegmentedReduce::Max(storage, bytes, device_integers.get(), largest.get(),
                                               int(borders.size()) - 1, ends.get(), ends.get() + 1);
    });
    std::vector<int> maxima(borders.size() - 1, std::numeric_limits<int>::lowest());
    for (size_t i = 0; i < maxima.size(); ++i)
        for (int k = borders[i]; k < borders[i + 1]; ++k) maxima[i] = std::max(maxima[i], integers[k]);
    compare("segments", largest.download(), maxima);
}

struct Odd {
    __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

static void selections() {
    std::vector<int> values = random_values<int>(count, 0, 1000);
    DeviceArray<int> in(values), out(count), selected(1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceSelect::If(storage, bytes, in.get(), out.get(), selected.get(), count, Odd());
    });
    std::vector<int> wanted;
    std::copy_if(values.begin(), values.end(), std::back_inserter(wanted), Odd());
    std::vector<int> got = out.download();
    got.resize(selected.download()[0]);
    compare("selected", got, wanted);
}

static void histograms() {
    std::vector<float> samples = random_values<float>(count, -1, 11);
    const int levels = 21;
    DeviceArray<float> in(samples);
    DeviceArray<int> bins(levels - 1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(storage, bytes, in.get(), bins.get(), levels, 0.0f, 10.0f, count);
    });
    std::vector<int> wanted(levels - 1);
    for (float sample : samples)
        if (sample >= 0 && sample < 10) ++wanted[int(sample * 2)];
    compare("histogram", bins.download(), wanted);
}

static void run_lengths() {
    std::vector<int> values(count), wanted_values, wanted_lengths;
    for (int i = 0; i < count; ++i) {
        values[i] = int(3 * std::sqrt(double(i))) / 2;
        if (i == 0 || values[i] != values[i - 1]) wanted_values.push_back(values[i]), wanted_lengths.push_back(0);
        ++wanted_lengths.back();
    }
    DeviceArray<int> in(values), unique(count), lengths(count), runs(1);
    with_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceRunLengthEncode::Encode(storage, bytes, in.get(), unique.get(), lengths.get(), runs.get(), count);
    });
    int found = runs.download()[0];
    EXPECT(found == int(wanted_values.size()));
    std::vector<int> got_values = unique.download(), got_lengths = lengths.download();
    got_values.resize(found), got_lengths.resize(found);
    compare("values of runs", got_values, wanted_values);
    compare("lengths of runs", got_lengths, wanted_lengths);
}

int main() {
    scans();
    reductions();
    selections();
    histograms();
    run_lengths();
    return finish();
}
