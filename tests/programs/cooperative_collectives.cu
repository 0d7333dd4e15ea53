// Cooperative groups' collectives on all kinds of groups: coalesced threads, partitions, tiles larger
// than a warp, with several types and operations, scans that update a counter, matches and elections.
//@ arch: compute_80
#include "check.h"

#include <algorithm>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;

static const int count = 256, results = 8;

struct Smallest {
    long long value;
    int place;
};

struct Smaller {
    __host__ __device__ Smallest operator()(Smallest a, Smallest b) const {
        return b.value < a.value || (b.value == a.value && b.place < a.place) ? b : a;
    }
};

// Only threads with an odd value, and among them those with the same remainder.
__global__ void coalesced(const int *values, int *out) {
    int i = threadIdx.x, value = values[i], *mine = out + i * results;
    if (value % 2 == 0) return;
    cg::coalesced_group odd = cg::coalesced_threads();
    mine[0] = cg::reduce(odd, value, cg::plus<int>());
    mine[1] = cg::reduce(odd, Smallest{(long long)value << 32, i}, Smaller()).place;
    mine[2] = cg::inclusive_scan(odd, value, cg::bit_xor<int>());
    mine[3] = cg::exclusive_scan(odd, value);
    auto large = cg::binary_partition(odd, value > 500);
    mine[4] = int(cg::reduce(large, double(value) / 2, cg::plus<double>()) * 2);
    auto same = cg::labeled_partition(odd, value % 3);
    mine[5] = cg::reduce(same, value, cg::less<int>()) * 64 + same.size();
    mine[6] = odd.match_any(value % 3) == 0 ? -1 : __popc(odd.match_any(value % 3));
    mine[7] = odd.shfl_down(value, 1) + odd.thread_rank() * 1000;
}

static std::vector<int> coalesced_on_host(const std::vector<int> &values) {
    std::vector<int> out(count * results);
    for (int first = 0; first < count; first += 32) {
        std::vector<int> members;
        for (int i = first; i < first + 32; ++i)
            if (values[i] % 2 != 0) members.push_back(i);
        for (size_t rank = 0; rank < members.size(); ++rank) {
            int *mine = &out[members[rank] * results], value = values[members[rank]];
            int smallest = members[0], least = value, same = 0;
            for (size_t k = 0; k < members.size(); ++k) {
                int other = values[members[k]];
                mine[0] += other;
                if (other < values[smallest]) smallest = members[k];
                if (k <= rank) mine[2] ^= other;
                if (k < rank) mine[3] += other;
                if ((other > 500) == (value > 500)) mine[4] += other;
                if (other % 3 == value % 3) least = std::min(least, other), ++same;
            }
            mine[1] = smallest, mine[5] = least * 64 + same, mine[6] = same;
            // The last thread keeps its own value.
            mine[7] = values[members[std::min(rank + 1, members.size() - 1)]] + int(rank) * 1000;
        }
    }
    return out;
}

// Tiles of 128 threads communicate through shared memory; scans allocate list positions from a counter.
__global__ void large_tiles(const int *values, int *out, int *counter, int *places) {
    __shared__ cg::block_tile_memory<count> storage;
    auto block = cg::this_thread_block(storage);
    auto tile = cg::tiled_partition<128>(block);
    int i = block.thread_rank(), value = values[i], *mine = out + i * 4;
    mine[0] = cg::reduce(tile, value, cg::greater<int>());
    mine[1] = tile.shfl(value, 100);
    mine[2] = tile.any(value > 990) + 2 * tile.all(value < 1000);
    mine[3] = 0;
    cg::invoke_one(tile, [&] { mine[3] = 1; });
    auto warp = cg::tiled_partition<32>(block);
    cuda::atomic_ref<int, cuda::thread_scope_block> next(*counter);
    places[i] = cg::exclusive_scan_update(warp, next, value % 4 + 1, cg::plus<int>());
    cuda::atomic_ref<int, cuda::thread_scope_block> total(counter[1]);
    cg::reduce_update_async(warp, total, value, cg::plus<int>());
}

static void test_large_tiles(const std::vector<int> &values) {
    DeviceArray<int> in(values), out(4 * count), counters(2), places(count);
    counters.fill(0);
    large_tiles<<<1, count>>>(in, out, counters, places);
    CHECK_KERNEL();
    std::vector<int> got = out.download(), wanted(4 * count);
    for (int first = 0; first < count; first += 128) {
        int largest = 0, chosen = 0;
        for (int i = first; i < first + 128; ++i) largest = std::max(largest, values[i]), chosen += got[4 * i + 3];
        EXPECT(chosen == 1);
        for (int i = first; i < first + 128; ++i) {
            wanted[4 * i] = largest;
            wanted[4 * i + 1] = values[first + 100];
            wanted[4 * i + 2] = (largest > 990) + 2 * (largest < 1000);
            wanted[4 * i + 3] = got[4 * i + 3];
        }
    }
    compare("large tiles", got, wanted);

    // Every thread received the requested number of contiguous positions.
    std::vector<int> owner = places.download(), taken;
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += values[i];
        for (int k = 0; k < values[i] % 4 + 1; ++k) taken.push_back(owner[i] + k);
    }
    std::sort(taken.begin(), taken.end());
    for (size_t i = 0; i < taken.size(); ++i) EXPECT(taken[i] == int(i));
    compare("counters", counters.download(), {int(taken.size()), sum});
}

int main() {
    std::vector<int> values = random_values<int>(count, 0, 1000);
    DeviceArray<int> in(values), out(count * results);
    out.fill(0);
    coalesced<<<1, count>>>(in, out);
    CHECK_KERNEL();
    compare("coalesced", out.download(), coalesced_on_host(values));
    test_large_tiles(values);
    return finish();
}
