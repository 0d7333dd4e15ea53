// Bandwidth of L1, shared memory and L2: every warp of a full machine repeatedly reads the whole
// contents of a level. Words of global memory are doubles, as in gpu-cache of RRZE's gpu-benches.
#include "micro.h"

constexpr int THREADS = 1024, LOADS = 8;

using Word = unsigned long long;

// Reads `count` words, LOADS per thread at a time, `rounds` times after a round that fills the caches.
template <bool LEVEL2>
__global__ void read(const Word *data, unsigned count, int rounds, size_t zero, Word *out, Span *spans) {
    Word sum = 0;
    unsigned start = 0;
#pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {
        if (round == 1) {
            __syncthreads();
            start = cycles();
        }
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < count; i += THREADS * LOADS) {
#pragma unroll
            for (int load = 0; load < LOADS; ++load) sum ^= load_word<LEVEL2>(data + i + load * THREADS);
        }
        data += zero;
    }
    if (sum == 1) *out = sum;
    if (blockIdx.x == 0) end_span(spans, start);
}

__global__ void read_shared(int rounds, unsigned zero, Word *out, Span *spans) {
    __shared__ unsigned words[THREADS * LOADS];
    for (unsigned i = threadIdx.x; i < THREADS * LOADS; i += THREADS) words[i] = 0;
    unsigned at = unsigned(__cvta_generic_to_shared(words)) + threadIdx.x * 4, sum = 0;
    __syncthreads();
    unsigned start = cycles();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int load = 0; load < LOADS; ++load) {
            unsigned word;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at + load * THREADS * 4));
            sum ^= word;
        }
        at += zero;
    }
    if (sum == 1) *out = sum;
    end_span(spans, start);
}

int main() {
    DeviceArray<Word> out(1), data(1 << 17);
    data.fill(0);
    DeviceArray<Span> spans(THREADS / 32);
    auto cycles_of = [&](auto launch) {
        launch();
        CHECK_KERNEL();
        return span(spans.download());
    };
    unsigned count = (64 << 10) / sizeof(Word);
    auto l1 = [&](int rounds) {
        return cycles_of([&] { read<false><<<1, THREADS>>>(data, count, rounds, 0, out, spans); });
    };
    row("bandwidth.l1", 8.0 * count * sizeof(Word) / (l1(12) - l1(4)), "B/cycle/SM");
    auto shared = [&](int rounds) {
        return cycles_of([&] { read_shared<<<1, THREADS>>>(rounds, 0, out, spans); });
    };
    row("bandwidth.shared", 16.0 * THREADS * LOADS * 4 / (shared(20) - shared(4)), "B/cycle/SM");
    unsigned sms = device().multiProcessorCount;
    // The data of each SM exceed its L1. The number of hits in the next round depends on the evictions.
    for (unsigned kib : {128, 192, 256}) {
        count = (kib << 10) / sizeof(Word);
        auto all = [&](int rounds) {
            return cycles_of([&] { read<false><<<sms, THREADS>>>(data, count, rounds, 0, out, spans); });
        };
        row("bandwidth.l1_of_" + std::to_string(kib) + "_kib", 8.0 * (kib << 10) / (all(10) - all(2)), "B/cycle/SM");
    }
    // Each SM reads the whole MiB.
    count = (1 << 20) / sizeof(Word);
    auto l2 = [&](int rounds) {
        return event_seconds([&] {
            read<true><<<sms, THREADS>>>(data, count, rounds, 0, out, spans);
        });
    };
    double rate = 1.0 * count * sizeof(Word) * sms / (l2(2) - l2(1));
    row("bandwidth.l2", rate / 1e9, "GB/s");
    row("bandwidth.l2_per_cycle", rate / clock_rate(), "B/cycle");
}
