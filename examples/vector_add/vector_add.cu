//@ modes: shared static clang
// c = a + b, one thread per element: the smallest complete CUDA program.
#include "check.h"

__global__ void vector_add(const float *a, const float *b, float *c, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = a[i] + b[i];
}

int main() {
    const int count = 50000;  // not a multiple of the block size
    std::vector<float> a = random_values<float>(count, -1, 1, 1);
    std::vector<float> b = random_values<float>(count, -1, 1, 2);
    DeviceArray<float> device_a(a), device_b(b), device_c(count);

    const int threads = 256;
    vector_add<<<(count + threads - 1) / threads, threads>>>(device_a, device_b, device_c, count);
    CHECK_KERNEL();

    std::vector<float> sum(count);
    for (int i = 0; i < count; ++i) sum[i] = a[i] + b[i];
    compare("c", device_c.download(), sum);
    return finish();
}
