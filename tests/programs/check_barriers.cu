//@ flags: -lineinfo
//@ check: barriers
//@ status: 86
//@ stderr: voltsim check barriers: part of a warp executes an aligned barrier
//@ stderr: executed by threads (0,0,0) to (15,0,0) of CTA (0,0,0)
//@ stderr: check_barriers.cu:12)
// A barrier in a branch of half of a warp is reported.
#include "check.h"

__global__ void halves(int *data) {
    data[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) __syncthreads();
    data[threadIdx.x] += 1;
}

int main() {
    DeviceArray<int> data(32);
    halves<<<1, 32>>>(data);
    CHECK(cudaDeviceSynchronize());
    return finish();
}
