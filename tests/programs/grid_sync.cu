// A grid with grid-wide synchronisation, started by cudaLaunchCooperativeKernel: Jacobi steps in a single launch.
#include "check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void smooth(float *a, float *b, int count, int steps, unsigned long long *ranks) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (int i = grid.thread_rank(); i < count; i += grid.size())
            b[i] = i == 0 || i == count - 1 ? a[i] : 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
        grid.sync();
        float *t = a;
        a = b;
        b = t;
    }
    if (grid.thread_rank() == 0) *ranks = grid.is_valid() ? grid.size() : 0;
}

int main() {
    const int count = 3000, steps = 10;
    std::vector<float> a = random_values<float>(count, 0, 1), wanted = a, next(count);
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < count; ++i)
            next[i] = i == 0 || i == count - 1 ? wanted[i] : 0.25f * wanted[i - 1] + 0.5f * wanted[i] + 0.25f * wanted[i + 1];
        wanted.swap(next);
    }

    int supported, blocks;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(supported == 1);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, smooth, 128, 0));
    EXPECT(blocks >= 1);

    DeviceArray<float> device_a(a), device_b(count);
    DeviceArray<unsigned long long> size(1);
    float *first = device_a, *second = device_b;
    unsigned long long *ranks = size;
    int the_count = count, the_steps = steps;
    void *arguments[] = {&first, &second, &the_count, &the_steps, &ranks};
    CHECK(cudaLaunchCooperativeKernel((const void *)smooth, dim3(12), dim3(128), arguments, 0, 0));
    CHECK_KERNEL();
    compare("smoothed", device_a.download(), wanted, 1e-6);
    EXPECT(size.download()[0] == 12 * 128);

    // More blocks than can be resident together.
    EXPECT_ERROR(cudaErrorCooperativeLaunchTooLarge,
                 cudaLaunchCooperativeKernel((const void *)smooth, dim3(100000), dim3(128), arguments, 0, 0));
    return finish();
}
