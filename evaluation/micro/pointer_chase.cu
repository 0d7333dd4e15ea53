// Latency of dependent loads: L1, L2, DRAM, shared memory,
// constant caches, textures and, if the card has any, TLB misses.
#include "micro.h"

constexpr int STEPS = 16;

template <bool LEVEL2>
struct InGlobal {
    using Pointer = unsigned long long;
    __device__ static void step(Pointer &at) { at = load_word<LEVEL2>((const Pointer *)at); }
};
using Global = InGlobal<false>;
using Level2 = InGlobal<true>;
struct Shared {
    using Pointer = unsigned;
    __device__ static void step(Pointer &at) { asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)); }
};
struct Constant {
    using Pointer = unsigned long long;
    __device__ static void step(Pointer &at) { asm volatile("ld.const.u64 %0, [%0];" : "+l"(at)); }
};

// Follows `warming` loads, then `counted` loads between two clock reads. Both are multiples of STEPS.
template <class Space>
__device__ void chase(typename Space::Pointer at, unsigned warming, unsigned counted, unsigned long long *out) {
#pragma unroll 1
    for (unsigned i = 0; i < warming; i += STEPS)
#pragma unroll
        for (int step = 0; step < STEPS; ++step) Space::step(at);
    // The clock is read after the last pointer has arrived.
    if (at == 1) *out = at;
    unsigned start = cycles();
#pragma unroll 1
    for (unsigned i = 0; i < counted; i += STEPS)
#pragma unroll
        for (int step = 0; step < STEPS; ++step) Space::step(at);
    if (at == 1) *out = at;
    *out = cycles() - start;
}

template <class Space>
__global__ void chase_global(const unsigned long long *ring, unsigned warming, unsigned counted, unsigned long long *out) {
    chase<Space>((unsigned long long)__cvta_generic_to_global(ring), warming, counted, out);
}

__global__ void chase_shared(unsigned nodes, unsigned stride, unsigned counted, unsigned long long *out) {
    extern __shared__ unsigned words[];
    unsigned base = unsigned(__cvta_generic_to_shared(words));
    for (unsigned node = 0; node < nodes; ++node)
        words[node * stride / 4] = base + (node + 1) % nodes * stride;
    chase<Shared>(base, nodes, counted, out);
}

__constant__ unsigned long long constants[8000];

__global__ void constant_base(unsigned long long *out) { *out = __cvta_generic_to_constant(constants); }

__global__ void chase_constant(unsigned warming, unsigned counted, unsigned long long *out) {
    chase<Constant>(__cvta_generic_to_constant(constants), warming, counted, out);
}

__global__ void chase_texture(cudaTextureObject_t texture, unsigned warming, unsigned counted, unsigned long long *out) {
    int at = 0;
    unsigned start = 0;
#pragma unroll 1
    for (unsigned i = 0; i < warming + counted; i += STEPS) {
        if (i == warming) start = cycles();
#pragma unroll
        for (int step = 0; step < STEPS; ++step) at = tex1Dfetch<int>(texture, at);
    }
    if (at == -1) *out = 0;
    *out = cycles() - start;
}

unsigned rounded(size_t steps) { return unsigned((steps + STEPS - 1) / STEPS * STEPS); }

double per_load(const DeviceArray<unsigned long long> &took, unsigned counted) {
    CHECK_KERNEL();
    return double(took.download()[0]) / counted;
}

// Cycles of a load after `warming` loads, averaged over `counted` loads; by default a whole round each.
template <class Space>
double walk(const Ring &ring, size_t warming = 0, size_t counted = 0) {
    DeviceArray<unsigned long long> took(1);
    unsigned warm = rounded(warming ? warming : ring.nodes), count = rounded(counted ? counted : ring.nodes);
    chase_global<Space><<<1, 1>>>(ring.memory, warm, count, took);
    return per_load(took, count);
}

__global__ void link_pages(char *memory, size_t page, size_t pages) {
    auto node = [=](size_t index) { return (unsigned long long *)(memory + index * page + index * 128 % page); };
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < pages; i += size_t(gridDim.x) * blockDim.x)
        *node(i) = (unsigned long long)node((i + 1) % pages);
}

// One node in each of `pages` 2 MiB pages, at offsets in different cache
// sets. The loads go to the L2, because the L1 has virtual addresses.
double walk_pages(char *memory, size_t pages) {
    link_pages<<<16, 64>>>(memory, size_t(2) << 20, pages);
    CHECK_KERNEL();
    DeviceArray<unsigned long long> took(1);
    unsigned count = rounded(pages);
    chase_global<Level2><<<1, 1>>>((const unsigned long long *)memory, count, count, took);
    return per_load(took, count);
}

// Loads a word of each of `pages` untouched pages in sequence: pages of the L2 TLB, of 32 MiB.
__global__ void visit(const char *memory, unsigned pages, unsigned zero, unsigned long long *out) {
    unsigned at = 0;
    unsigned start = cycles();
#pragma unroll 1
    for (unsigned page = 0; page < pages; ++page)
        at += (load_word<true>((const unsigned *)(memory + at)) & zero) + (32 << 20) + 128;
    if (at == 1) *out = at;
    *out = cycles() - start;
}

// Additional latency of the first load from a page compared with one that hits the TLB and the L2.
double first_load() {
    constexpr unsigned PAGES = 32;
    DeviceArray<char> memory(size_t(PAGES + 1) << 25);
    DeviceArray<unsigned long long> took(1);
    auto visited = [&] {
        visit<<<1, 1>>>(memory, PAGES, 0, took);
        CHECK_KERNEL();
        return double(took.download()[0]);
    };
    double first = visited();
    return (first - visited()) / PAGES;
}

double constant_latency(size_t bytes) {
    size_t nodes = bytes / 64;
    DeviceArray<unsigned long long> base(1), took(1);
    constant_base<<<1, 1>>>(base);
    CHECK_KERNEL();
    unsigned long long first = base.download()[0];
    std::vector<unsigned long long> words(nodes * 8);
    for (size_t node = 0; node < nodes; ++node) words[node * 8] = first + (node + 1) % nodes * 64;
    CHECK(cudaMemcpyToSymbol(constants, words.data(), words.size() * 8));
    chase_constant<<<1, 1>>>(rounded(2 * nodes), 1024, took);
    return per_load(took, 1024);
}

double texture_latency() {
    size_t nodes = 64, stride = 32;
    std::vector<int> next(nodes * stride);
    std::vector<size_t> successors = random_successors(nodes);
    for (size_t node = 0; node < nodes; ++node) next[node * stride] = int(successors[node] * stride);
    DeviceArray<int> memory(next);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = memory.bytes();
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    DeviceArray<unsigned long long> took(1);
    chase_texture<<<1, 1>>>(texture, 128, 1024, took);
    double latency = per_load(took, 1024);
    CHECK(cudaDestroyTextureObject(texture));
    return latency;
}

int main() {
    // This runs first, because freed memory is allocated again with known pages.
    double first = first_load();
    row("latency.l1", walk<Global>(Ring(128, 128)), "cycles");
    // Four times the largest L1, so that nothing of a round remains there for the next.
    double level2 = walk<Global>(Ring(4096, 128));
    row("latency.l2", level2, "cycles");
    row("latency.dram_of_new_page", first + level2, "cycles");
    {
        Ring ring(size_t(24) << 20 >> 7, 128);
        displace_l2();
        row("latency.dram", walk<Global>(ring, STEPS, 8192), "cycles");
    }
    DeviceArray<unsigned long long> took(1);
    chase_shared<<<1, 1, 4096>>>(64, 64, 1024, took);
    row("latency.shared", per_load(took, 1024), "cycles");
    row("latency.constant_l1", constant_latency(1024), "cycles");
    row("latency.constant_l1_5", constant_latency(32 << 10), "cycles");
    row("latency.texture", texture_latency(), "cycles");
    DeviceArray<char> memory(size_t(256) << 21);
    row("latency.pages_of_32_mib", walk_pages(memory, 16), "cycles");
    row("latency.pages_of_512_mib", walk_pages(memory, 256), "cycles");
}
