//@ flags: -lineinfo
//@ check: memory
//@ status: 86
//@ stderr: voltsim check memory: write of 4 bytes right past the end of an allocation
//@ stderr: write by thread (100,0,0) of CTA (0,0,0)
//@ stderr: check_memory.cu:13)
//@ stderr: of 400 bytes at
//@ stderr: made by cudaMalloc (API call
// A store beyond an allocation is reported with the allocation, the thread and the line.
#include "check.h"

// One thread more than elements.
__global__ void fill(int *data) { data[threadIdx.x] = threadIdx.x; }

int main() {
    int *data;
    CHECK(cudaMalloc(&data, 100 * sizeof(int)));
    fill<<<1, 101>>>(data);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    return finish();
}
