//@ flags: -lineinfo
//@ check: races
//@ status: 86
//@ stderr: race between warps of a CTA on shared memory
//@ stderr: race between CTAs on global memory: read after write
//@ stderr: variable tile
//@ stderr: check_races.cu:19)
//@ stderr: check_races.cu:36)
// Two kernels without a necessary ordering of threads: a barrier of the CTA, and a fence before
// the counter that identifies the last CTA. With both, they would be common and race-free.
#include "check.h"

const int threads = 128, blocks = 16;

template <bool ordered>
__device__ void reverse(int *data, int *tile) {
    tile[threadIdx.x] = data[threadIdx.x];
    if (ordered) __syncthreads();
    data[threadIdx.x] = tile[threads - 1 - threadIdx.x];
}

__global__ void reverse(int *data) {
    __shared__ int tile[threads];
    reverse<false>(data, tile);
    __syncthreads();
    reverse<true>(data, tile);
}

template <bool ordered>
__global__ void sum(int *partial, unsigned *finished, int *total) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = blockIdx.x;
    if (ordered) __threadfence();
    if (atomicInc(finished, blocks - 1) != blocks - 1) return;
    int all = 0;
    for (int i = 0; i < blocks; ++i) all += partial[i];
    *total = all;
}

int main() {
    DeviceArray<int> data(threads), partial(blocks), total(1);
    DeviceArray<unsigned> finished(1);
    data.fill(0);
    finished.fill(0);
    reverse<<<1, threads>>>(data);
    CHECK_KERNEL();
    sum<true><<<blocks, 32>>>(partial, finished, total);
    CHECK_KERNEL();
    sum<false><<<blocks, 32>>>(partial, finished, total);
    CHECK_KERNEL();
    EXPECT(total.download()[0] == blocks * (blocks - 1) / 2);
    return finish();
}
