#include "other.h"

__device__ int other_counter = 3;
__device__ int other_table[4] = {11, 22, 33, 44};

// The main file has static variables with the same names.
static __device__ int private_state = 100;

static __device__ int private_function(int x) { return x + private_state; }

__device__ int other_function(int x) { return private_function(x * scale); }

static __device__ int negative(int x) { return -x; }
static __device__ int square(int x) { return x * x; }

__device__ Function chosen_function(int which) { return which == 0 ? negative : square; }

__global__ void other_kernel(const int *in, int *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = other_function(in[i]);
}

void launch_of_other_file(const int *in, int *out, int count) { other_kernel<<<(count + 127) / 128, 128>>>(in, out, count); }
