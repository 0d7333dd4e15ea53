// Calls through pointers: tables in constant and global memory, pointers
// passed to kernels, different targets within a warp, and recursion.
#include "check.h"

typedef float (*Operation)(float, float);

__device__ float add(float a, float b) { return a + b; }
__device__ float subtract(float a, float b) { return a - b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ float larger(float a, float b) { return a > b ? a : b; }

__device__ Operation operations[] = {add, subtract, multiply, larger};
__constant__ Operation constant_operations[] = {larger, multiply, subtract, add};
__device__ Operation single = subtract;

__global__ void apply_each(const float *a, const float *b, const int *which, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = operations[which[i]](a[i], b[i]) + constant_operations[which[i]](a[i], b[i]);
}

__global__ void apply_one(Operation operation, const float *a, const float *b, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = operation(a[i], b[i]);
}

__device__ __host__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __host__ __noinline__ long long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __host__ bool is_odd(int n);
__device__ __host__ __noinline__ bool is_even(int n) { return n == 0 || is_odd(n - 1); }
__device__ __host__ __noinline__ bool is_odd(int n) { return n != 0 && is_even(n - 1); }

__global__ void recurse(long long *out) {
    int i = threadIdx.x;
    out[i] = fibonacci(i % 12) + 1000 * ackermann(i % 3, i % 5) + 1000000 * is_even(i);
}

int main() {
    const int count = 1000;
    std::vector<float> a = random_values<float>(count, -9, 9, 1), b = random_values<float>(count, -9, 9, 2);
    std::vector<int> which = random_values<int>(count, 0, 3, 3);
    std::vector<float> wanted(count);
    for (int i = 0; i < count; ++i) {
        float results[] = {a[i] + b[i], a[i] - b[i], a[i] * b[i], std::fmax(a[i], b[i])};
        wanted[i] = results[which[i]] + results[3 - which[i]];
    }
    DeviceArray<float> device_a(a), device_b(b), out(count);
    DeviceArray<int> device_which(which);
    apply_each<<<(count + 127) / 128, 128>>>(device_a, device_b, device_which, out, count);
    CHECK_KERNEL();
    compare("tables", out.download(), wanted);

    Operation operation;
    CHECK(cudaMemcpyFromSymbol(&operation, single, sizeof operation));
    apply_one<<<(count + 127) / 128, 128>>>(operation, device_a, device_b, out, count);
    CHECK_KERNEL();
    for (int i = 0; i < count; ++i) wanted[i] = a[i] - b[i];
    compare("pointer passed", out.download(), wanted);

    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
    DeviceArray<long long> results(64);
    recurse<<<1, 64>>>(results);
    CHECK_KERNEL();
    std::vector<long long> recursed(64);
    for (int i = 0; i < 64; ++i)
        recursed[i] = fibonacci(i % 12) + 1000 * ackermann(i % 3, i % 5) + 1000000 * is_even(i);
    compare("recursion", results.download(), recursed);
    return finish();
}
