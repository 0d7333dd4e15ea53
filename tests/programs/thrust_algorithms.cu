//@ mistakes: the merge sort of CUB reads shared memory behind its keys, and uses nothing of it
// Thrust: sorting, reductions, scans, compaction, and iterators that transform, permute and zip, against the host.
//@ flags: --extended-lambda -DTHRUST_FORCE_32_BIT_OFFSET_TYPE
#include "check.h"

#include <cuda/std/tuple>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>

static const int count = 5000;

template <class T>
static std::vector<T> on_host(const thrust::device_vector<T> &values) {
    std::vector<T> out(values.size());
    thrust::copy(values.begin(), values.end(), out.begin());
    return out;
}

static void sorting(const std::vector<int> &values) {
    thrust::device_vector<int> device(values);
    thrust::sort(device.begin(), device.end());
    std::vector<int> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    compare("sort", on_host(device), sorted);

    // Few distinct keys make stability visible; a custom comparison selects the merge sort.
    thrust::device_vector<int> keys(values), places(count);
    thrust::sequence(places.begin(), places.end());
    auto before = [] __host__ __device__(int a, int b) { return a % 10 > b % 10; };
    thrust::stable_sort_by_key(keys.begin(), keys.end(), places.begin(), before);
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return before(values[a], values[b]); });
    compare("stable_sort_by_key", on_host(places), order);
}

static void reductions(const std::vector<int> &values) {
    thrust::device_vector<int> device(values);
    EXPECT(thrust::reduce(device.begin(), device.end()) == std::accumulate(values.begin(), values.end(), 0));
    auto square = [] __host__ __device__(int x) { return (long long)x * x; };
    long long sum = 0;
    for (int value : values) sum += square(value);
    EXPECT(thrust::transform_reduce(device.begin(), device.end(), square, 0ll, thrust::plus<long long>()) == sum);

    // Runs of the same key: their sums.
    std::vector<int> keys(count);
    for (int i = 0; i < count; ++i) keys[i] = int(std::sqrt(double(i)));
    std::vector<int> wanted(keys.back() + 1);
    for (int i = 0; i < count; ++i) wanted[keys[i]] += values[i];
    thrust::device_vector<int> device_keys(keys), run_keys(count), sums(count);
    auto ends = thrust::reduce_by_key(device_keys.begin(), device_keys.end(), device.begin(), run_keys.begin(), sums.begin());
    EXPECT(ends.first - run_keys.begin() == int(wanted.size()));
    sums.resize(wanted.size());
    compare("reduce_by_key", on_host(sums), wanted);
}

static void scans(const std::vector<int> &values) {
    thrust::device_vector<int> device(values), out(count);
    std::vector<int> wanted(count);
    thrust::inclusive_scan(device.begin(), device.end(), out.begin());
    std::partial_sum(values.begin(), values.end(), wanted.begin());
    compare("inclusive_scan", on_host(out), wanted);
    thrust::exclusive_scan(device.begin(), device.end(), out.begin(), -1000000, thrust::maximum<int>());
    int largest = -1000000;
    for (int i = 0; i < count; ++i) {
        wanted[i] = largest;
        largest = std::max(largest, values[i]);
    }
    compare("exclusive_scan", on_host(out), wanted);
}

static void compaction(const std::vector<int> &values) {
    std::vector<int> few(count);
    for (int i = 0; i < count; ++i) few[i] = values[i] / 400;
    thrust::device_vector<int> device(few);
    device.erase(thrust::unique(device.begin(), device.end()), device.end());
    std::vector<int> wanted = few;
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    compare("unique", on_host(device), wanted);

    thrust::device_vector<int> all(values), kept(count);
    auto odd = [] __host__ __device__(int x) { return x % 2 != 0; };
    kept.erase(thrust::copy_if(all.begin(), all.end(), kept.begin(), odd), kept.end());
    wanted.clear();
    std::copy_if(values.begin(), values.end(), std::back_inserter(wanted), odd);
    compare("copy_if", on_host(kept), wanted);
}

// Dot product of every third value with the value at the mirrored position.
static void iterators(const std::vector<int> &values) {
    thrust::device_vector<int> device(values);
    auto mirrored = thrust::make_transform_iterator(thrust::counting_iterator<int>(0),
                                                    [] __host__ __device__(int i) { return count - 1 - i; });
    auto pairs = thrust::make_zip_iterator(
        device.begin(), thrust::make_permutation_iterator(device.begin(), mirrored), thrust::counting_iterator<int>(0));
    auto product = [] __host__ __device__(const cuda::std::tuple<int, int, int> &x) {
        return cuda::std::get<2>(x) % 3 == 0 ? (long long)cuda::std::get<0>(x) * cuda::std::get<1>(x) : 0ll;
    };
    long long sum = 0;
    for (int i = 0; i < count; i += 3) sum += (long long)values[i] * values[count - 1 - i];
    EXPECT(thrust::transform_reduce(pairs, pairs + count, product, 0ll, thrust::plus<long long>()) == sum);
}

int main() {
    std::vector<int> values = random_values<int>(count, -1000, 1000);
    sorting(values);
    reductions(values);
    scans(values);
    compaction(values);
    iterators(values);
    return finish();
}
