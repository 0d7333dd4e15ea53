// cuda::barrier, cuda::pipeline and memcpy_async on Ampere: producers and consumers, a completion function,
// dropped participants, asynchronous fills several stages ahead, and the cooperative groups variant.
//@ arch: compute_80
#include "check.h"

#include <cuda/barrier>
#include <cuda/pipeline>

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// The first half of the block fills two alternating buffers, and the second half sums them.
__global__ void produce_and_consume(int rounds, int *sums) {
    const int half = 64;
    __shared__ int buffers[2][half];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier ready[2], filled[2];
    auto block = cg::this_thread_block();
    if (block.thread_rank() < 4)
        init(block.thread_rank() < 2 ? ready + block.thread_rank() : filled + block.thread_rank() - 2, block.size());
    block.sync();
    int sum = 0;
    if (block.thread_rank() < half) {
        for (int i = 0; i < rounds; ++i) {
            ready[i % 2].arrive_and_wait();
            buffers[i % 2][block.thread_rank()] = i * 100 + block.thread_rank();
            Barrier::arrival_token token = filled[i % 2].arrive();
            (void)token;
        }
    } else {
        int mine = block.thread_rank() - half;
        (void)ready[0].arrive();
        (void)ready[1].arrive();
        for (int i = 0; i < rounds; ++i) {
            filled[i % 2].arrive_and_wait();
            sum += buffers[i % 2][(mine + i) % half];
            (void)ready[i % 2].arrive();
        }
        sums[mine] = sum;
    }
}

static void test_barriers() {
    const int rounds = 9;
    DeviceArray<int> sums(64);
    produce_and_consume<<<1, 128>>>(rounds, sums);
    CHECK_KERNEL();
    std::vector<int> wanted(64);
    for (int mine = 0; mine < 64; ++mine)
        for (int i = 0; i < rounds; ++i) wanted[mine] += i * 100 + (mine + i) % 64;
    compare("consumers", sums.download(), wanted);
}

struct Step {
    int *phase;
    __device__ void operator()() const noexcept { ++*phase; }
};

// Every round, one more thread leaves; the completion function runs once per phase, before any thread continues.
__global__ void leaving(int *phases_seen) {
    __shared__ int phase;
    using Counting = cuda::barrier<cuda::thread_scope_block, Step>;
    __shared__ alignas(Counting) unsigned char storage[sizeof(Counting)];
    Counting *barrier = reinterpret_cast<Counting *>(storage);
    if (threadIdx.x == 0) {
        phase = 0;
        new (barrier) Counting(blockDim.x, Step{&phase});
    }
    __syncthreads();
    for (int round = 0;; ++round) {
        if (int(threadIdx.x) == round) {
            phases_seen[threadIdx.x] = phase;
            barrier->arrive_and_drop();
            return;
        }
        barrier->arrive_and_wait();
    }
}

static void test_leaving() {
    DeviceArray<int> seen(40);
    leaving<<<1, 40>>>(seen);
    CHECK_KERNEL();
    std::vector<int> wanted(40);
    for (int i = 0; i < 40; ++i) wanted[i] = i;
    compare("phases", seen.download(), wanted);
}

// Tiles of the input, a few stages ahead in shared memory; out[i] is the sum of in[i] and its mirror image in the tile.
template <int stages>
__global__ void pipelined(const int *in, int *out, int tiles) {
    extern __shared__ int buffer[];
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto pipeline = cuda::make_pipeline(block, &state);
    int size = block.size(), next = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        for (; next < tiles && next < tile + stages; ++next) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, buffer + next % stages * size, in + next * size, sizeof(int) * size, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        const int *here = buffer + tile % stages * size;
        out[tile * size + block.thread_rank()] = here[block.thread_rank()] + here[size - 1 - block.thread_rank()];
        pipeline.consumer_release();
    }
}

// The same with a thread's own pipeline with 16-byte copies, and with barriers.
__global__ void each_thread(const int4 *in, int4 *out) {
    __shared__ int4 buffer[2][64];
    __shared__ Barrier barrier;
    int i = threadIdx.x;
    if (i == 0) init(&barrier, blockDim.x);
    __syncthreads();
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&buffer[0][i], &in[i], cuda::aligned_size_t<16>(16), pipeline);
    pipeline.producer_commit();
    cuda::memcpy_async(&buffer[1][i], &in[64 + i], cuda::aligned_size_t<16>(16), barrier);
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    barrier.arrive_and_wait();
    pipeline.consumer_release();
    int4 a = buffer[0][i], b = buffer[1][63 - i];
    out[i] = make_int4(a.x + b.w, a.y + b.z, a.z + b.y, a.w + b.x);
}

__global__ void by_groups(const int *in, int *out) {
    __shared__ int buffer[32 * 4];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int *mine = buffer + 32 * tile.meta_group_rank();
    cg::memcpy_async(tile, mine, 32, in + 32 * tile.meta_group_rank(), 32);
    cg::wait(tile);
    out[block.thread_rank()] = mine[31 - tile.thread_rank()];
}

static void test_copies() {
    const int size = 128, tiles = 11;
    std::vector<int> values = random_values<int>(size * tiles, 0, 1000000), wanted(size * tiles);
    for (int i = 0; i < size * tiles; ++i) wanted[i] = values[i] + values[i / size * size + size - 1 - i % size];
    DeviceArray<int> in(values), out(size * tiles);
    pipelined<3><<<1, size, 3 * size * sizeof(int)>>>(in, out, tiles);
    CHECK_KERNEL();
    compare("three stages", out.download(), wanted);

    wanted.clear();
    for (int i = 0; i < 256; ++i) wanted.push_back(values[i] + values[511 - i]);
    DeviceArray<int> sums(256);
    each_thread<<<1, 64>>>((const int4 *)in.get(), (int4 *)sums.get());
    CHECK_KERNEL();
    compare("each thread", sums.download(), wanted);

    wanted.clear();
    for (int i = 0; i < 128; ++i) wanted.push_back(values[i / 32 * 32 + 31 - i % 32]);
    DeviceArray<int> reversed(128);
    by_groups<<<1, 128>>>(in, reversed);
    CHECK_KERNEL();
    compare("groups", reversed.download(), wanted);
}

int main() {
    test_barriers();
    test_leaving();
    test_copies();
    return finish();
}
