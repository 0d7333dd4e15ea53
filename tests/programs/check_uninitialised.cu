//@ flags: -lineinfo
//@ check: uninitialised
//@ status: 86
//@ stderr: read of 4 bytes of uninitialised global memory
//@ stderr: read by thread (60,0,0) of CTA (0,0,0)
//@ stderr: is byte 240 of allocation
//@ stderr: read of 4 bytes of uninitialised shared memory
//@ stderr: check_uninitialised.cu:16)
// Reads of uninitialised memory: beyond the data copied by the host, and of a partially filled tile.
#include "check.h"

__global__ void shift(const int *in, int *out) {
    __shared__ int tile[64];
    if (threadIdx.x < 63) tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}

int main() {
    DeviceArray<int> in(64), copy(64), out(64);
    std::vector<int> values(60, 1);
    CHECK(cudaMemcpy(in, values.data(), 60 * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(copy, in, 64 * sizeof(int), cudaMemcpyDeviceToDevice));
    shift<<<1, 64>>>(copy, out);
    CHECK_KERNEL();
    // Kernels and the host may read the results of a kernel.
    shift<<<1, 64>>>(out, in);
    CHECK_KERNEL();
    return finish();
}
