// Source of assorted.ptx:
//   nvcc -O3 -std=c++17 -arch=compute_75 -lineinfo -ptx assorted.cu
#include <cstdio>

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ float twice(float x) { return x * 2; }
__device__ float half(float x) { return x / 2; }
__device__ float (*const functions[2])(float) = {twice, half};
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

__global__ void __launch_bounds__(128, 2) mix(float *out, int k)
{
    __shared__ float shared[128];
    shared[threadIdx.x] = functions[k & 1](out[threadIdx.x]) + factorial(k) + matrix[k & 1][2];
    __syncthreads();
    float4 four = reinterpret_cast<float4 *>(out)[1];
    switch (k) {
    case 0: four.x = 1; break;
    case 1: four.x = shared[1]; break;
    case 2: four.x = weights[k]; break;
    case 3: four.x = four.y * 3; break;
    case 4: four.x = sqrtf(four.z); break;
    case 5: four.x = -four.w; break;
    default: atomicAdd(out, four.x);
    }
    reinterpret_cast<float4 *>(out)[2] = four;
    if (k > 9) printf("%d\n", k);
}
