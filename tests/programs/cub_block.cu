//@ mistakes: the merge sort of CUB reads shared memory behind its keys, and uses nothing of it
// CUB's block and warp primitives against the host: loads and stores through shared memory,
// exchange, radix and merge sort, scan, reduce, histogram, discontinuities and shuffles.
//@ modes: shared
#include "check.h"

#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include <algorithm>
#include <functional>
#include <numeric>

static const int threads = 128, items = 5, tile = threads * items, blocks = 3;

struct Before {
    __host__ __device__ bool operator()(int a, int b) const { return a % 100 < b % 100; }
};

// Each block sorts its tile by value, in descending order, and by the last two digits.
__global__ void sort(const int *in, int *ascending, int *descending, int *by_digits) {
    using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_TRANSPOSE>;
    using Radix = cub::BlockRadixSort<int, threads, items>;
    using Merge = cub::BlockMergeSort<int, threads, items>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Radix::TempStorage radix;
        typename Merge::TempStorage merge;
    } storage;
    int offset = blockIdx.x * tile, mine[items], sorted[items];
    Load(storage.load).Load(in + offset, mine);
    __syncthreads();
    for (int i = 0; i < items; ++i) sorted[i] = mine[i];
    Radix(storage.radix).Sort(sorted);
    __syncthreads();
    Store(storage.store).Store(ascending + offset, sorted);
    __syncthreads();
    Radix(storage.radix).SortDescendingBlockedToStriped(sorted);
    cub::StoreDirectStriped<threads>(threadIdx.x, descending + offset, sorted);
    __syncthreads();
    Merge(storage.merge).StableSort(mine, Before());
    __syncthreads();
    Store(storage.store).Store(by_digits + offset, mine);
}

// Per item: its prefix sum by two kinds of scan, and whether it differs from its
// predecessor. Per block: the sum, the maximum, and the count of each digit.
__global__ void scan(const int *in, int *sums, int *maxima, int *heads, int *totals, unsigned *digits) {
    using Sum = cub::BlockScan<int, threads, cub::BLOCK_SCAN_RAKING>;
    using Maximum = cub::BlockScan<int, threads, cub::BLOCK_SCAN_WARP_SCANS>;
    using Reduce = cub::BlockReduce<int, threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    using Heads = cub::BlockDiscontinuity<int, threads>;
    using Histogram = cub::BlockHistogram<unsigned char, threads, items, 10, cub::BLOCK_HISTO_ATOMIC>;
    using Exchange = cub::BlockExchange<int, threads, items>;
    __shared__ union {
        typename Sum::TempStorage sum;
        typename Maximum::TempStorage maximum;
        typename Reduce::TempStorage reduce;
        typename Heads::TempStorage heads;
        typename Histogram::TempStorage histogram;
        typename Exchange::TempStorage exchange;
    } storage;
    __shared__ unsigned counts[10];
    int offset = blockIdx.x * tile, striped[items], mine[items], out[items];
    cub::LoadDirectStriped<threads>(threadIdx.x, in + offset, striped);
    Exchange(storage.exchange).StripedToBlocked(striped, mine);
    __syncthreads();
    int total;
    Sum(storage.sum).InclusiveSum(mine, out, total);
    cub::StoreDirectBlocked(threadIdx.x, sums + offset, out);
    __syncthreads();
    Maximum(storage.maximum).ExclusiveScan(mine, out, -1, cuda::maximum<>());
    cub::StoreDirectBlocked(threadIdx.x, maxima + offset, out);
    __syncthreads();
    Heads(storage.heads).FlagHeads(out, mine, cuda::std::not_equal_to<>());
    cub::StoreDirectBlocked(threadIdx.x, heads + offset, out);
    __syncthreads();
    int largest = Reduce(storage.reduce).Reduce(mine, cuda::maximum<>());
    if (threadIdx.x == 0) totals[2 * blockIdx.x] = total, totals[2 * blockIdx.x + 1] = largest;
    unsigned char last_digits[items];
    for (int i = 0; i < items; ++i) last_digits[i] = mine[i] % 10;
    __syncthreads();
    Histogram(storage.histogram).Histogram(last_digits, counts);
    __syncthreads();
    if (threadIdx.x < 10) digits[10 * blockIdx.x + threadIdx.x] = counts[threadIdx.x];
}

// Whole warps, and groups of 8 threads.
__global__ void warps(const int *in, int *out) {
    using Reduce = cub::WarpReduce<int>;
    using Scan = cub::WarpScan<int, 8>;
    using Sort = cub::WarpMergeSort<int, 2, 32>;
    __shared__ typename Reduce::TempStorage reduce[threads / 32];
    __shared__ typename Scan::TempStorage scan[threads / 8];
    __shared__ typename Sort::TempStorage sort[threads / 32];
    int thread = threadIdx.x, value = in[thread], prefix;
    int sum = Reduce(reduce[thread / 32]).Sum(value);
    int head_sum = Reduce(reduce[thread / 32]).HeadSegmentedSum(value, value % 4 == 0);
    Scan(scan[thread / 8]).ExclusiveSum(value, prefix);
    int pair[2] = {value, in[thread + threads]};
    Sort(sort[thread / 32]).Sort(pair, cuda::std::less<>());
    int *mine = out + 5 * thread;
    mine[0] = thread % 32 == 0 ? sum : 0;
    mine[1] = thread % 32 == 0 || value % 4 == 0 ? head_sum : 0;
    mine[2] = prefix;
    mine[3] = pair[0], mine[4] = pair[1];
}

static void test_sort(const std::vector<int> &values) {
    DeviceArray<int> in(values), ascending(values.size()), descending(values.size()), by_digits(values.size());
    sort<<<blocks, threads>>>(in, ascending, descending, by_digits);
    CHECK_KERNEL();
    std::vector<int> up = values, down = values, digits = values;
    for (int first = 0; first < blocks * tile; first += tile) {
        std::sort(up.begin() + first, up.begin() + first + tile);
        std::sort(down.begin() + first, down.begin() + first + tile, std::greater<int>());
        std::stable_sort(digits.begin() + first, digits.begin() + first + tile, Before());
    }
    compare("ascending", ascending.download(), up);
    compare("descending", descending.download(), down);
    compare("by digits", by_digits.download(), digits);
}

static void test_scan(const std::vector<int> &values) {
    std::vector<int> sums, maxima, heads, totals;
    std::vector<unsigned> digits(10 * blocks);
    for (int i = 0; i < blocks * tile; ++i) {
        bool first = i % tile == 0;
        sums.push_back((first ? 0 : sums.back()) + values[i]);
        maxima.push_back(first ? -1 : std::max(maxima.back(), values[i - 1]));
        heads.push_back(first || values[i] != values[i - 1]);
        ++digits[i / tile * 10 + values[i] % 10];
        if (i % tile == tile - 1) totals.insert(totals.end(), {sums.back(), std::max(maxima.back(), values[i])});
    }
    DeviceArray<int> in(values), out_sums(values.size()), out_maxima(values.size()), out_heads(values.size()), out_totals(2 * blocks);
    DeviceArray<unsigned> out_digits(10 * blocks);
    scan<<<blocks, threads>>>(in, out_sums, out_maxima, out_heads, out_totals, out_digits);
    CHECK_KERNEL();
    compare("sums", out_sums.download(), sums);
    compare("maxima", out_maxima.download(), maxima);
    compare("heads", out_heads.download(), heads);
    compare("totals", out_totals.download(), totals);
    compare("digits", out_digits.download(), digits);
}

static void test_warps(const std::vector<int> &values) {
    std::vector<int> wanted(5 * threads);
    for (int first = 0; first < threads; first += 32) {
        int segment = first, sorted[64];
        for (int i = first; i < first + 32; ++i) {
            if (values[i] % 4 == 0) segment = i;
            wanted[5 * first] += values[i];
            wanted[5 * segment + 1] += values[i];
            for (int k = i / 8 * 8; k < i; ++k) wanted[5 * i + 2] += values[k];
            sorted[2 * (i - first)] = values[i], sorted[2 * (i - first) + 1] = values[i + threads];
        }
        std::sort(sorted, sorted + 64);
        for (int i = 0; i < 64; ++i) wanted[5 * (first + i / 2) + 3 + i % 2] = sorted[i];
    }
    DeviceArray<int> in(values), out(5 * threads);
    warps<<<1, threads>>>(in, out);
    CHECK_KERNEL();
    compare("warps", out.download(), wanted);
}

int main() {
    std::vector<int> values = random_values<int>(blocks * tile, 0, 5000);
    test_sort(values);
    for (int &value : values) value /= 400; // Runs of equal values.
    test_scan(values);
    test_warps(values);
    return finish();
}
