//@ modes: shared static clang
// Transpose of a matrix: first with column-wise writes, then through
// padded shared memory, so that all global accesses are along rows.
#include "check.h"

constexpr int tile = 32, rows = 8;

__global__ void transpose_naive(const double *in, double *out, int width, int height) {
    int x = blockIdx.x * tile + threadIdx.x;
    for (int y = blockIdx.y * tile + threadIdx.y; y < min(height, int(blockIdx.y + 1) * tile); y += rows)
        if (x < width) out[x * height + y] = in[y * width + x];
}

__global__ void transpose_tiled(const double *in, double *out, int width, int height) {
    __shared__ double cells[tile][tile + 1];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    for (int k = 0; k < tile; k += rows)
        if (x < width && y + k < height) cells[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * tile + threadIdx.x, y = blockIdx.x * tile + threadIdx.y;
    for (int k = 0; k < tile; k += rows)
        if (x < height && y + k < width) out[(y + k) * height + x] = cells[threadIdx.x][threadIdx.y + k];
}

int main() {
    const int width = 300, height = 170;
    std::vector<double> values = random_values<double>(width * height, -1, 1), wanted(width * height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) wanted[x * height + y] = values[y * width + x];
    DeviceArray<double> in(values), out(width * height);
    dim3 blocks((width + tile - 1) / tile, (height + tile - 1) / tile), threads(tile, rows);

    out.fill(0);
    transpose_naive<<<blocks, threads>>>(in, out, width, height);
    CHECK_KERNEL();
    compare("naive", out.download(), wanted);

    out.fill(0);
    transpose_tiled<<<blocks, threads>>>(in, out, width, height);
    CHECK_KERNEL();
    compare("tiled", out.download(), wanted);
    return finish();
}
