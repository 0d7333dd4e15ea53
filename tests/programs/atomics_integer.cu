// Every integer atomic on global and shared memory, for 32 and 64 bits, with the returned values.
#include "check.h"

#include <algorithm>
#include <climits>

typedef unsigned long long u64;

constexpr int threads = 256, blocks = 12, count = threads * blocks;

// Results of operations with irrelevant order.
struct Totals {
    int add, sub, min, max, and_, or_, xor_;
    unsigned umin, umax, uadd;
    u64 add64, and64, or64, xor64, umin64, umax64;
    long long min64, max64;
    unsigned inc, dec;
};

static const Totals start = {0, 0, INT_MAX, INT_MIN, -1, 0, 0, UINT_MAX, 0, 0, 0, ~0ull, 0, 0, ULLONG_MAX, 0, LLONG_MAX, LLONG_MIN, 0, 0};

__device__ void apply(Totals &totals, long long value) {
    int word = int(value);
    atomicAdd(&totals.add, word);
    atomicSub(&totals.sub, word);
    atomicMin(&totals.min, word);
    atomicMax(&totals.max, word);
    atomicAnd(&totals.and_, word | 0xff);
    atomicOr(&totals.or_, word & 0xffff00);
    atomicXor(&totals.xor_, word);
    atomicMin(&totals.umin, unsigned(word));
    atomicMax(&totals.umax, unsigned(word));
    atomicAdd(&totals.uadd, unsigned(word));
    atomicAdd(&totals.add64, u64(value));
    atomicAnd(&totals.and64, u64(value) | 0xfff);
    atomicOr(&totals.or64, u64(value) & 0xffff0000ffull);
    atomicXor(&totals.xor64, u64(value));
    atomicMin(&totals.umin64, u64(value));
    atomicMax(&totals.umax64, u64(value));
    atomicMin(&totals.min64, value);
    atomicMax(&totals.max64, value);
    // Counters that wrap at 1000.
    atomicInc(&totals.inc, 999);
    atomicDec(&totals.dec, 999);
}

__global__ void on_global(const long long *values, Totals *totals) {
    apply(*totals, values[blockIdx.x * threads + threadIdx.x]);
}

__global__ void on_shared(const long long *values, Totals *of_block) {
    __shared__ Totals totals;
    if (threadIdx.x == 0) totals = of_block[blockIdx.x];
    __syncthreads();
    apply(totals, values[blockIdx.x * threads + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) of_block[blockIdx.x] = totals;
}

static Totals on_host(const long long *values, int count) {
    Totals t = start;
    for (int i = 0; i < count; ++i) {
        long long value = values[i];
        int word = int(value);
        t.uadd += unsigned(word);
        t.xor_ ^= word;
        t.min = std::min(t.min, word);
        t.max = std::max(t.max, word);
        t.and_ &= word | 0xff;
        t.or_ |= word & 0xffff00;
        t.umin = std::min(t.umin, unsigned(word));
        t.umax = std::max(t.umax, unsigned(word));
        t.add64 += u64(value);
        t.and64 &= u64(value) | 0xfff;
        t.or64 |= u64(value) & 0xffff0000ffull;
        t.xor64 ^= u64(value);
        t.umin64 = std::min(t.umin64, u64(value));
        t.umax64 = std::max(t.umax64, u64(value));
        t.min64 = std::min(t.min64, value);
        t.max64 = std::max(t.max64, value);
        t.inc = t.inc >= 999 ? 0 : t.inc + 1;
        t.dec = t.dec == 0 || t.dec > 999 ? 999 : t.dec - 1;
    }
    t.add = int(t.uadd);
    t.sub = int(-t.uadd);
    return t;
}

static void compare_totals(const char *what, const Totals &got, const Totals &want) {
#define FIELD(field) \
    if (got.field != want.field) { \
        std::printf("%s: %s: got %lld, want %lld\n", what, #field, (long long)got.field, (long long)want.field); \
        ++failures; \
    }
    FIELD(add) FIELD(sub) FIELD(min) FIELD(max) FIELD(and_) FIELD(or_) FIELD(xor_) FIELD(umin) FIELD(umax) FIELD(uadd)
    FIELD(add64) FIELD(and64) FIELD(or64) FIELD(xor64) FIELD(umin64) FIELD(umax64) FIELD(min64) FIELD(max64)
    FIELD(inc) FIELD(dec)
#undef FIELD
}

// Returned values: each ticket is issued once, and exchanges pass every value on exactly once.
__global__ void tickets(unsigned *next, unsigned *taken, u64 *hand, u64 *got) {
    unsigned i = blockIdx.x * threads + threadIdx.x;
    taken[atomicAdd(next, 1u)] += 1 + i;
    got[i] = atomicExch(hand, u64(i + 1) << 32);
}

// Multiplication by compare-and-swap.
__global__ void multiply(unsigned *product, u64 *product64) {
    unsigned factor = 2 * (blockIdx.x * threads + threadIdx.x) + 1;
    unsigned old = *product, assumed;
    do {
        assumed = old;
        old = atomicCAS(product, assumed, assumed * factor);
    } while (old != assumed);
    u64 old64 = *product64, assumed64;
    do {
        assumed64 = old64;
        old64 = atomicCAS(product64, assumed64, assumed64 * factor);
    } while (old64 != assumed64);
}

__global__ void cas_halves(unsigned short *halves) {
    // Two 16-bit counters in one word are independent.
    unsigned short *mine = halves + threadIdx.x % 2, old = *mine, assumed;
    do {
        assumed = old;
        old = atomicCAS(mine, assumed, (unsigned short)(assumed + 1));
    } while (old != assumed);
}

int main() {
    std::vector<long long> values = random_values<long long>(count, LLONG_MIN, LLONG_MAX);
    DeviceArray<long long> device_values(values);

    DeviceArray<Totals> total(std::vector<Totals>{start});
    on_global<<<blocks, threads>>>(device_values, total);
    CHECK_KERNEL();
    compare_totals("global", total.download()[0], on_host(values.data(), count));

    DeviceArray<Totals> of_block(std::vector<Totals>(blocks, start));
    on_shared<<<blocks, threads>>>(device_values, of_block);
    CHECK_KERNEL();
    std::vector<Totals> got = of_block.download();
    for (int b = 0; b < blocks; ++b) compare_totals("shared", got[b], on_host(&values[b * threads], threads));

    DeviceArray<unsigned> next(1), taken(count);
    DeviceArray<u64> hand(1), handed(count);
    next.fill(0), taken.fill(0), hand.fill(0);
    tickets<<<blocks, threads>>>(next, taken, hand, handed);
    CHECK_KERNEL();
    std::vector<unsigned> ticket = taken.download();
    std::sort(ticket.begin(), ticket.end());
    std::vector<unsigned> all(count);
    for (int i = 0; i < count; ++i) all[i] = i + 1;
    compare("tickets", ticket, all);
    std::vector<u64> seen = handed.download(), every(count + 1);
    seen.push_back(hand.download()[0]);
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i <= count; ++i) every[i] = u64(i) << 32;
    compare("exchanged", seen, every);

    DeviceArray<unsigned> product(std::vector<unsigned>{1});
    DeviceArray<u64> product64(std::vector<u64>{1});
    multiply<<<blocks, threads>>>(product, product64);
    CHECK_KERNEL();
    u64 wanted = 1;
    for (int i = 0; i < count; ++i) wanted *= 2 * i + 1;
    compare("product", product.download(), {unsigned(wanted)});
    compare("product of 64 bits", product64.download(), {wanted});

    DeviceArray<unsigned short> halves(2);
    halves.fill(0);
    cas_halves<<<4, 100>>>(halves);
    CHECK_KERNEL();
    compare("halves", halves.download(), {200, 200});
    return finish();
}
