// Cycles per warp load that hits the L1, by stride of the lanes, by offset
// of the warp's second half, and by groups of lanes that share a line.
#include "micro.h"

constexpr int WARPS = 32, LOADS = 16;

// The word of each lane is at `offsets[lane]` bytes.
template <class Word>
__global__ void load(const char *memory, const unsigned *offsets, int rounds, size_t zero, Word *out, Span *spans) {
    const char *at = memory + offsets[threadIdx.x % 32];
    Word sum = 0;
    unsigned start = 0;
    // Round 0 fills the cache.
#pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {
        if (round == 1) {
            __syncthreads();
            start = cycles();
        }
#pragma unroll
        for (int i = 0; i < LOADS; ++i) sum ^= load_word<false>((const Word *)at);
        at += zero;
    }
    if (sum == 1) *out = sum;
    end_span(spans, start);
}

template <class Word>
double per_load(const std::vector<unsigned> &offsets) {
    DeviceArray<char> memory(64 << 10);
    memory.fill(0);
    DeviceArray<unsigned> at(offsets);
    DeviceArray<Word> out(1);
    DeviceArray<Span> spans(WARPS);
    auto run = [&](int rounds) {
        load<Word><<<1, WARPS * 32>>>(memory, at, rounds, 0, out, spans);
        CHECK_KERNEL();
        return span(spans.download());
    };
    return (run(10) - run(2)) / (8.0 * WARPS * LOADS);
}

template <class Offset>
std::vector<unsigned> offsets(Offset offset) {
    std::vector<unsigned> all(32);
    for (unsigned lane = 0; lane < 32; ++lane) all[lane] = offset(lane);
    return all;
}

int main() {
    for (unsigned stride = 0; stride <= 64; ++stride)
        row("l1.stride_" + std::to_string(stride),
            per_load<unsigned long long>(offsets([=](unsigned lane) { return lane * stride * 8; })), "cycles");
    for (unsigned offset = 0; offset < 1024; offset += 16)
        row("l1.halfwarp_offset_" + std::to_string(offset),
            per_load<unsigned long long>(offsets([=](unsigned lane) { return (lane % 16 + lane / 16 * offset) * 8; })),
            "cycles");
    for (unsigned lanes = 1; lanes <= 32; lanes *= 2)
        row("coalescer.lanes_per_line_" + std::to_string(lanes),
            per_load<unsigned>(offsets([=](unsigned lane) { return lane / lanes * 132 + lane % lanes * 4; })), "cycles");
}
