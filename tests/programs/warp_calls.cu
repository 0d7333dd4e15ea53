// Warp-wide functions called from different code locations: both sides of a branch, and recursion of
// different depths. Since Volta, the lanes named by a mask wait for each other at any code location.
#include <cstdio>
#include <cuda_runtime.h>

static const unsigned members = 0xffffffffu;

__device__ __noinline__ int neighbour(int value, int distance)
{
    return __shfl_xor_sync(members, value, distance);
}

__device__ __noinline__ int sum_of_warp(int value)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        value += neighbour(value, distance);
    }
    return value;
}

// Lane i's sum has depth i % 5; each activation adds its depth afterwards.
__device__ __noinline__ int deep_sum(int value, int depth)
{
    if (depth == 0) {
        return sum_of_warp(value);
    }
    return deep_sum(value, depth - 1) + depth;
}

__global__ void from_branches(int *out)
{
    int lane = threadIdx.x % 32;
    int sum;
    if (lane % 3 == 0) {
        sum = sum_of_warp(lane * 2);
    } else if (lane % 3 == 1) {
        sum = sum_of_warp(lane + 1);
    } else {
        sum = sum_of_warp(-lane);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void from_recursion(int *out)
{
    int lane = threadIdx.x % 32;
    out[blockIdx.x * blockDim.x + threadIdx.x] = deep_sum(lane, lane % 5);
}

__global__ void at_two_places(int *out)
{
    __shared__ int block[256];
    int lane = threadIdx.x % 32, first = threadIdx.x - lane;
    unsigned odd;
    if (lane % 2 == 0) {
        block[threadIdx.x] = lane;
        odd = __ballot_sync(members, lane > 20);
        __syncwarp();
    } else {
        block[threadIdx.x] = -lane;
        odd = __ballot_sync(members, lane < 10);
        __syncwarp();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = block[first + (lane ^ 1)] * 100 + __popc(odd);
}

static int failures = 0;

template <typename Expected>
static void check(const char *name, void (*kernel)(int *), Expected expected)
{
    const int blocks = 4, threads = 256;
    int *out;
    cudaMallocManaged(&out, blocks * threads * sizeof(int));
    kernel<<<blocks, threads>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        printf("%s: %s\n", name, cudaGetErrorString(error));
        failures++;
        return;
    }
    for (int i = 0; i < blocks * threads; i++) {
        if (out[i] != expected(i % 32)) {
            printf("%s: thread %d has %d, not %d\n", name, i, out[i], expected(i % 32));
            failures++;
            break;
        }
    }
    cudaFree(out);
}

int main()
{
    int sum = 0;
    for (int lane = 0; lane < 32; lane++) {
        sum += lane % 3 == 0 ? lane * 2 : lane % 3 == 1 ? lane + 1 : -lane;
    }
    int votes = 0;
    for (int lane = 0; lane < 32; lane++) {
        votes += lane % 2 == 0 ? lane > 20 : lane < 10;
    }
    check("from_branches", from_branches, [=](int) { return sum; });
    check("from_recursion", from_recursion, [=](int lane) {
        int depth = lane % 5;
        return 31 * 32 / 2 + depth * (depth + 1) / 2;
    });
    check("at_two_places", at_two_places, [=](int lane) {
        int other = lane ^ 1;
        return (other % 2 == 0 ? other : -other) * 100 + votes;
    });
    if (failures != 0) {
        printf("FAIL\n");
        return 1;
    }
    printf("PASS\n");
    return 0;
}
