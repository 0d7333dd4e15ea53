// Textures in linear memory: tex1Dfetch, rows with a pitch, gathering; half precision.
#include "check.h"

#include <cuda_fp16.h>

enum { width = 33, height = 9, count = 100 };

__global__ void fetch(cudaTextureObject_t numbers, cudaTextureObject_t pairs, int *out, float2 *halves) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count + 10) out[i] = tex1Dfetch<int>(numbers, i - 5);
    if (i < count) halves[i] = tex1Dfetch<float2>(pairs, i);
}

__global__ void rows(cudaTextureObject_t texture, float *out, float4 *gathered) {
    int x = threadIdx.x, y = blockIdx.x, i = y * width + x;
    out[i] = tex2D<float>(texture, x + 1.0f, y + 0.5f);
    gathered[i] = tex2Dgather<float4>(texture, x + 1.0f, y + 1.0f, 0);
}

static cudaTextureObject_t linear(const void *memory, cudaChannelFormatDesc format, size_t bytes) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = (void *)memory;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = bytes;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

int main() {
    std::vector<int> numbers = random_values<int>(count, -1000, 1000);
    std::vector<float> values = random_values<float>(2 * count, -8, 8);
    std::vector<__half2> pairs;
    for (int i = 0; i < count; ++i) pairs.push_back(__floats2half2_rn(values[2 * i], values[2 * i + 1]));
    DeviceArray<int> memory(numbers), out(count + 10);
    DeviceArray<__half2> half_memory(pairs);
    DeviceArray<float2> halves(count);
    cudaTextureObject_t texture = linear(memory.get(), cudaCreateChannelDesc<int>(), memory.bytes());
    cudaTextureObject_t half_texture = linear(half_memory.get(), cudaCreateChannelDescHalf2(), half_memory.bytes());
    fetch<<<1, 128>>>(texture, half_texture, out, halves);
    CHECK_KERNEL();
    std::vector<int> wanted(count + 10, 0);
    for (int i = 0; i < count; ++i) wanted[i + 5] = numbers[i];
    compare("numbers", out.download(), wanted);
    std::vector<float2> got = halves.download();
    std::vector<float> rounded;
    for (float value : values) rounded.push_back(__half2float(__float2half(value)));
    compare("halves", &got[0].x, rounded.data(), rounded.size());

    std::vector<float> plane = random_values<float>(width * height, 0, 1);
    float *device;
    size_t pitch;
    CHECK(cudaMallocPitch(&device, &pitch, width * sizeof(float), height));
    CHECK(cudaMemcpy2D(device, pitch, plane.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = device;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    DeviceArray<float> sampled(width * height);
    DeviceArray<float4> gathered(width * height);
    rows<<<height, width>>>(texture, sampled, gathered);
    CHECK_KERNEL();
    auto at = [&](int x, int y) { return plane[std::min(y, height - 1) * width + std::min(x, width - 1)]; };
    std::vector<float> between, corners;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            between.push_back((at(x, y) + at(x + 1, y)) / 2);
            for (float texel : {at(x, y + 1), at(x + 1, y + 1), at(x + 1, y), at(x, y)}) corners.push_back(texel);
        }
    compare("rows", sampled.download(), between, 1e-6);
    std::vector<float4> found = gathered.download();
    compare("gathered", &found[0].x, corners.data(), corners.size());
    resource.res.pitch2D.pitchInBytes = pitch + 4;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    cudaGetLastError();
    return finish();
}
