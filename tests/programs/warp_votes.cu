// Votes, ballots, matches and activemask, for full warps, subsets, and after lanes have returned.
#include "check.h"

constexpr unsigned full = 0xffffffff;
constexpr int kinds = 9;

__global__ void vote(const int *values, unsigned *out) {
    unsigned lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = values[i];
    unsigned *mine = out + i * kinds;
    mine[0] = __ballot_sync(full, value % 3 == 0);
    mine[1] = __all_sync(full, value >= 0);
    mine[2] = __any_sync(full, value > 995);
    mine[3] = __match_any_sync(full, value % 5);
    int same;
    mine[4] = __match_all_sync(full, value / 900, &same);
    mine[5] = same;
    // Only some lanes participate.
    const unsigned low_half = 0x0000ffff;
    mine[6] = lane < 16 ? __ballot_sync(low_half, value & 1) : 0;
    mine[7] = lane < 16 ? __match_any_sync(low_half, (long long)(value % 2) << 40) : 0;
    mine[8] = lane < 16 ? __all_sync(low_half, value < 990) : __any_sync(~low_half, value > 990);
}

static std::vector<unsigned> vote_on_host(const std::vector<int> &values) {
    std::vector<unsigned> out(values.size() * kinds);
    for (size_t i = 0; i < values.size(); ++i) {
        const int *warp = &values[i / 32 * 32];
        unsigned lane = i % 32, *mine = &out[i * kinds], equal = 0;
        mine[1] = 1;
        bool all_low = true, any_high = false;
        for (int other = 0; other < 32; ++other) {
            unsigned bit = 1u << other;
            if (warp[other] % 3 == 0) mine[0] |= bit;
            if (warp[other] < 0) mine[1] = 0;
            if (warp[other] > 995) mine[2] = 1;
            if (warp[other] % 5 == warp[lane] % 5) mine[3] |= bit;
            if (warp[other] / 900 == warp[lane] / 900) equal |= bit;
            if (other < 16 && lane < 16 && warp[other] & 1) mine[6] |= bit;
            if (other < 16 && lane < 16 && warp[other] % 2 == warp[lane] % 2) mine[7] |= bit;
            if (other < 16 && warp[other] >= 990) all_low = false;
            if (other >= 16 && warp[other] > 990) any_high = true;
        }
        mine[4] = equal == full ? full : 0;
        mine[5] = equal == full;
        mine[8] = lane < 16 ? all_low : any_high;
    }
    return out;
}

// Returned lanes are in no mask; a partial last warp has no lanes beyond its threads.
__global__ void who_is_here(unsigned *masks) {
    unsigned lane = threadIdx.x % 32;
    if (lane % 4 == 3) return;
    masks[threadIdx.x] = __ballot_sync(threadIdx.x < 32 ? 0x77777777 : 0x00000077, 1);
}

// An index per lane that passes a test: the usual way to append from a warp.
__global__ void compact(const int *values, int count, int *kept, int *kept_count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < count && values[i] % 7 == 0;
    unsigned mask = __ballot_sync(full, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(kept_count, __popc(mask));
    base = __shfl_sync(full, base, 0);
    if (keep) kept[base + __popc(mask & ((1u << lane) - 1))] = values[i];
}

int main() {
    const int count = 512;
    std::vector<int> values = random_values<int>(count, 0, 999);
    for (int i = 64; i < 96; ++i) values[i] = 903;  // a warp in which all agree
    values[130] = -4;
    DeviceArray<int> device_values(values);
    DeviceArray<unsigned> out(count * kinds);
    vote<<<4, 128>>>(device_values, out);
    CHECK_KERNEL();
    compare("votes", out.download(), vote_on_host(values));

    DeviceArray<unsigned> masks(40);
    masks.fill(0);
    who_is_here<<<1, 40>>>(masks);
    CHECK_KERNEL();
    std::vector<unsigned> wanted(40);
    for (int i = 0; i < 40; ++i) wanted[i] = i % 4 == 3 ? 0 : i < 32 ? 0x77777777 : 0x77;
    compare("lanes present", masks.download(), wanted);

    DeviceArray<int> kept(count), kept_count(1);
    kept_count.fill(0);
    compact<<<5, 128>>>(device_values, count, kept, kept_count);
    CHECK_KERNEL();
    std::vector<int> found = kept.download();
    found.resize(kept_count.download()[0]);
    long long sum = 0, wanted_sum = 0;
    size_t wanted_count = 0;
    for (int value : found) sum += value;
    for (int value : values)
        if (value % 7 == 0) wanted_sum += value, ++wanted_count;
    EXPECT(found.size() == wanted_count && sum == wanted_sum);
    return finish();
}
