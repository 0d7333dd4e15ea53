// Heat diffusion on a plate: a five-point stencil with a heat source per cell. Each
// block keeps its cells and their border in shared memory, and two buffers alternate.
#include "check.h"
#include "time_native.h"

#include <algorithm>

constexpr int tile = 16;
constexpr float conductivity = 0.2f;

__global__ void heat_step(const float *in, const float *source, float *out, int width, int height) {
    __shared__ float cells[tile + 2][tile + 2];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    // Outside of the plate, the temperature equals that of the edge.
    auto at = [&](int column, int row) {
        column = min(max(column, 0), width - 1), row = min(max(row, 0), height - 1);
        return in[row * width + column];
    };
    int cx = threadIdx.x + 1, cy = threadIdx.y + 1;
    cells[cy][cx] = at(x, y);
    if (threadIdx.x == 0) cells[cy][0] = at(x - 1, y);
    if (threadIdx.x == tile - 1) cells[cy][tile + 1] = at(x + 1, y);
    if (threadIdx.y == 0) cells[0][cx] = at(x, y - 1);
    if (threadIdx.y == tile - 1) cells[tile + 1][cx] = at(x, y + 1);
    __syncthreads();
    if (x >= width || y >= height) return;
    float flow = cells[cy][cx - 1] + cells[cy][cx + 1] + cells[cy - 1][cx] + cells[cy + 1][cx] - 4 * cells[cy][cx];
    out[y * width + x] = cells[cy][cx] + conductivity * flow + source[y * width + x];
}

static void heat_on_host(const std::vector<float> &in, const std::vector<float> &source, std::vector<float> &out, int width, int height) {
    auto at = [&](int x, int y) { return in[std::min(std::max(y, 0), height - 1) * width + std::min(std::max(x, 0), width - 1)]; };
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            float flow = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * at(x, y);
            out[y * width + x] = at(x, y) + conductivity * flow + source[y * width + x];
        }
}

int main(int argc, char **argv) {
    const int width = size_argument(argc, argv, 150), height = width * 3 / 5, steps = 20;
    std::vector<float> cells = random_values<float>(width * height, 20, 80), next(width * height);
    std::vector<float> source = random_values<float>(width * height, 0, 0.5f, 2);
    DeviceArray<float> first(cells), second(width * height), device_source(source);

    float *in = first, *out = second;
    dim3 blocks((width + tile - 1) / tile, (height + tile - 1) / tile), threads(tile, tile);
    for (int step = 0; step < steps; ++step) {
        heat_step<<<blocks, threads>>>(in, device_source, out, width, height);
        std::swap(in, out);
        heat_on_host(cells, source, next, width, height);
        cells.swap(next);
    }
    CHECK_KERNEL();
    compare("temperatures", first.download(), cells, 1e-5);
    return finish();
}
