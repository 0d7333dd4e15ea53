//@ mistakes: CTAs race for tickets, tiles and lines of text
// CTAs race with matrix products: a CTA multiplies a tile that other CTAs store at the same time, and
// prints. Results are small whole numbers, which every order of products holds exactly.
#include <mma.h>

#include "check.h"

using namespace nvcuda;

const int CTAS = 60, TILES = 4, SIDE = 16, TILE = SIDE * SIDE;

__global__ void multiply_tiles(unsigned *next, float *sums, unsigned *tickets) {
    __shared__ half left[TILE], right[TILE];
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(next, 1);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += 32) {
        left[i] = __float2half(i / SIDE == i % SIDE ? 1.0f : 0.0f);
        right[i] = __float2half(static_cast<float>((ticket + i) % 8));
    }
    __syncthreads();
    float *tile = sums + ticket % TILES * TILE;
    wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> c;
    wmma::load_matrix_sync(c, tile, SIDE, wmma::mem_row_major);
    wmma::load_matrix_sync(a, left, SIDE);
    wmma::load_matrix_sync(b, right, SIDE);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(tile, c, SIDE, wmma::mem_row_major);
    if (threadIdx.x == 0) {
        tickets[ticket] = blockIdx.x;
        printf("CTA %u has ticket %u and %g\n", blockIdx.x, ticket, tile[0]);
    }
}

int main() {
    DeviceArray<unsigned> next(1), tickets(CTAS);
    DeviceArray<float> sums(TILES * TILE);
    next.fill(0);
    sums.fill(0);
    tickets.fill(0xff);
    multiply_tiles<<<CTAS, 32>>>(next, sums, tickets);
    CHECK_KERNEL();
    std::vector<bool> drawn(CTAS);
    for (unsigned cta : tickets.download()) {
        EXPECT(cta < CTAS && !drawn[cta]);
        if (cta < CTAS) drawn[cta] = true;
    }
    // A CTA adds at most 7 to each sum.
    double digest = 0;
    for (float sum : sums.download()) {
        EXPECT(sum >= 0 && sum <= 7.0f * CTAS / TILES);
        digest = digest * 3 + sum;
        digest -= static_cast<long long>(digest / 1000003) * 1000003.0;
    }
    printf("sums: %.0f\n", digest);
    return finish();
}
