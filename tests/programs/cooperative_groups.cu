// Cooperative groups below the grid: blocks, tiles of every size, coalesced threads, labelled partitions, collectives.
#include "check.h"

#include <algorithm>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int Size>
__device__ int sum_of_tile(cg::thread_block block, int value) {
    auto tile = cg::tiled_partition<Size>(block);
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_xor(value, offset);
    return value + 1000000 * tile.thread_rank() + 100000 * (tile.meta_group_rank() % 10);
}

__global__ void tiles(const int *values, int *out) {
    cg::thread_block block = cg::this_thread_block();
    unsigned rank = block.thread_rank();
    int value = values[rank];
    int *mine = out + rank * 8;
    mine[0] = sum_of_tile<1>(block, value);
    mine[1] = sum_of_tile<4>(block, value);
    mine[2] = sum_of_tile<32>(block, value);
    auto tile = cg::tiled_partition<16>(block);
    mine[3] = cg::reduce(tile, value, cg::plus<int>());
    mine[4] = cg::reduce(tile, value, cg::greater<int>());
    mine[5] = cg::inclusive_scan(tile, value);
    mine[6] = cg::exclusive_scan(tile, value);
    mine[7] = tile.any(value > 90) * 2 + tile.all(value > 10) + 4 * __popc(tile.ballot(value % 2));
}

static std::vector<int> tiles_on_host(const std::vector<int> &values) {
    std::vector<int> out(values.size() * 8);
    for (int i = 0; i < int(values.size()); ++i) {
        int *mine = &out[i * 8];
        const int sizes[] = {1, 4, 32};
        for (int k = 0; k < 3; ++k) {
            int size = sizes[k];
            for (int j = i / size * size; j < (i / size + 1) * size; ++j) mine[k] += values[j];
            mine[k] += 1000000 * (i % size) + 100000 * (i / size % 10);
        }
        bool any = false, all = true;
        int odd = 0;
        for (int j = i / 16 * 16; j < (i / 16 + 1) * 16; ++j) {
            mine[3] += values[j];
            mine[4] = std::max(mine[4], values[j]);
            if (j <= i) mine[5] += values[j];
            if (j < i) mine[6] += values[j];
            any |= values[j] > 90, all &= values[j] > 10, odd += values[j] % 2;
        }
        mine[7] = any * 2 + all + 4 * odd;
    }
    return out;
}

// The threads that arrived together share one atomic.
__global__ void aggregated_count(const int *values, int *counters, int *order) {
    int bucket = values[threadIdx.x] % 3;
    if (bucket != 2) {
        cg::coalesced_group active = cg::coalesced_threads();
        auto same = cg::labeled_partition(active, bucket);
        int base = 0;
        if (same.thread_rank() == 0) base = atomicAdd(&counters[bucket], int(same.size()));
        order[threadIdx.x] = same.shfl(base, 0) + int(same.thread_rank());
    }
}

__global__ void reverse_through_block(int *data) {
    extern __shared__ int buffer[];
    cg::thread_block block = cg::this_thread_block();
    buffer[block.thread_rank()] = data[block.thread_rank()];
    block.sync();
    data[block.thread_rank()] = buffer[block.size() - 1 - block.thread_rank()];
}

int main() {
    const int count = 128;
    std::vector<int> values = random_values<int>(count, 0, 99);
    DeviceArray<int> in(values), out(count * 8);
    tiles<<<1, count>>>(in, out);
    CHECK_KERNEL();
    compare("tiles", out.download(), tiles_on_host(values));

    DeviceArray<int> counters(3), order(count);
    counters.fill(0), order.fill(0xff);
    aggregated_count<<<1, count>>>(in, counters, order);
    CHECK_KERNEL();
    std::vector<int> counted(3), got = order.download();
    for (int value : values)
        if (value % 3 != 2) ++counted[value % 3];
    compare("counters", counters.download(), counted);
    for (int bucket = 0; bucket < 3; ++bucket) {
        std::vector<int> seen(count);
        for (int i = 0; i < count; ++i)
            if (values[i] % 3 == bucket && got[i] >= 0 && got[i] < count) ++seen[got[i]];
        for (int i = 0; i < counted[bucket]; ++i) EXPECT(seen[i] == 1);
    }

    reverse_through_block<<<1, count, count * sizeof(int)>>>(in);
    CHECK_KERNEL();
    compare("block", in.download(), std::vector<int>(values.rbegin(), values.rend()));
    return finish();
}
