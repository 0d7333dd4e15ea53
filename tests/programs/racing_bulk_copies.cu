//@ mistakes: CTAs race for tickets and tiles
//@ modes: shared
//@ arch: compute_90
//@ device: h100
// CTAs race with bulk copies: a CTA copies a tile to shared memory that other CTAs copy back at the
// same time.
#include <cstdint>

#include "check.h"

const int CTAS = 60, TILES = 4, WORDS = 64, BYTES = WORDS * 4;

static __device__ unsigned shared_address(const void *pointer) {
    return unsigned(__cvta_generic_to_shared(pointer));
}

// Copies the tile to shared memory, and waits for its bytes.
static __device__ void load(unsigned *copy, const unsigned *tile, uint64_t *barrier) {
    unsigned at = shared_address(barrier);
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(BYTES) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(copy)),
        "l"(tile), "r"(BYTES), "r"(at)
        : "memory");
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra again;\n}" ::"r"(at)
                 : "memory");
}

// Copies the tile back, and waits for its bytes.
static __device__ void store(unsigned *tile, const unsigned *copy) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(tile),
                 "r"(shared_address(copy)), "r"(BYTES)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void count(unsigned *next, unsigned *tiles, unsigned *tickets) {
    __shared__ alignas(128) unsigned copy[WORDS];
    __shared__ uint64_t barrier;
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) {
        ticket = atomicAdd(next, 1);
        load(copy, tiles + ticket % TILES * WORDS, &barrier);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) copy[i] = copy[i] * 3 + ticket;
    __syncthreads();
    if (threadIdx.x == 0) {
        store(tiles + ticket % TILES * WORDS, copy);
        tickets[ticket] = blockIdx.x;
    }
}

int main() {
    DeviceArray<unsigned> next(1), tiles(TILES * WORDS), tickets(CTAS);
    next.fill(0);
    tiles.fill(0);
    tickets.fill(0xff);
    count<<<CTAS, 32>>>(next, tiles, tickets);
    CHECK_KERNEL();
    std::vector<bool> drawn(CTAS);
    for (unsigned cta : tickets.download()) {
        EXPECT(cta < CTAS && !drawn[cta]);
        if (cta < CTAS) drawn[cta] = true;
    }
    unsigned digest = 0;
    for (unsigned word : tiles.download()) digest = digest * 31 + word;
    EXPECT(digest != 0);
    printf("tiles: %u\n", digest);
    return finish();
}
