// c = a b for square matrices, `matrix_multiply [size]`: first with
// all operands in global memory, then with tiles in shared memory.
#include "check.h"
#include "time_native.h"
#include "native.h"

__global__ void multiply_naive(int size, const float *a, const float *b, float *c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= size || column >= size) return;
    float sum = 0;
    for (int k = 0; k < size; ++k) sum += a[row * size + k] * b[k * size + column];
    c[row * size + column] = sum;
}

constexpr int tile = 16;

// `size` is a multiple of the tile.
__global__ void multiply_tiled(int size, const float *a, const float *b, float *c) {
    __shared__ float tile_a[tile][tile], tile_b[tile][tile];
    int row = blockIdx.y * tile + threadIdx.y;
    int column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < size; k0 += tile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * size + k0 + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * size + column];
        __syncthreads();
        for (int k = 0; k < tile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * size + column] = sum;
}

int main(int argc, char **argv) {
    const int size = (size_argument(argc, argv, 128) + tile - 1) / tile * tile;
    std::vector<float> a = random_values<float>(size * size, -1, 1, 1);
    std::vector<float> b = random_values<float>(size * size, -1, 1, 2);
    std::vector<float> wanted(size * size);
    multiply_native(size, a.data(), b.data(), wanted.data());

    DeviceArray<float> device_a(a), device_b(b), device_c(size * size);
    dim3 threads(tile, tile), blocks(size / tile, size / tile);
    // Sums of `size` products, in a different order than on the host.
    const double tolerance = 1e-6 * size;

    multiply_naive<<<blocks, threads>>>(size, device_a, device_b, device_c);
    CHECK_KERNEL();
    compare("naive", device_c.download(), wanted, tolerance);

    device_c.fill(0);
    multiply_tiled<<<blocks, threads>>>(size, device_a, device_b, device_c);
    CHECK_KERNEL();
    compare("tiled", device_c.download(), wanted, tolerance);

    if (wants_native(argc, argv)) {
        time_native("multiply_naive", [&] { multiply_native(size, a.data(), b.data(), wanted.data()); });
        time_native("multiply_tiled", [&] { multiply_tiled_native(size, a.data(), b.data(), wanted.data()); });
    }
    return finish();
}
