// An image blurred by a mask in constant memory, first along rows, then along columns.
#include "check.h"

constexpr int radius = 4;
__constant__ float mask[2 * radius + 1];

// `step` is 1 along rows and the width along columns; `position` and `length` refer to that direction.
__device__ float blur(const float *centre, int step, int position, int length) {
    float sum = 0;
    for (int k = -radius; k <= radius; ++k)
        if (position + k >= 0 && position + k < length) sum += mask[k + radius] * centre[k * step];
    return sum;
}

__global__ void blur_rows(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = blur(in + y * width + x, 1, x, width);
}

__global__ void blur_columns(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = blur(in + y * width + x, width, y, height);
}

int main() {
    const int width = 210, height = 130;
    std::vector<float> image = random_values<float>(width * height, 0, 1), weights(2 * radius + 1), wanted(width * height);
    float total = 0;
    for (int k = -radius; k <= radius; ++k) total += weights[k + radius] = std::exp(-0.2f * k * k);
    for (float &weight : weights) weight /= total;
    CHECK(cudaMemcpyToSymbol(mask, weights.data(), sizeof mask));

    DeviceArray<float> in(image), between(width * height), out(width * height);
    dim3 threads(32, 8), blocks((width + 31) / 32, (height + 7) / 8);
    blur_rows<<<blocks, threads>>>(in, between, width, height);
    blur_columns<<<blocks, threads>>>(between, out, width, height);
    CHECK_KERNEL();

    // The host uses the two-dimensional mask.
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int dy = -radius; dy <= radius; ++dy)
                for (int dx = -radius; dx <= radius; ++dx)
                    if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height)
                        wanted[y * width + x] += weights[dx + radius] * weights[dy + radius] * image[(y + dy) * width + x + dx];
    compare("blurred", out.download(), wanted, 1e-5);
    return finish();
}
