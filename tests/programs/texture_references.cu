// Texture and surface references, which CUDA 12 removed: bound to arrays, to rows and to linear memory.
//@ modes: clang11
#include "check.h"

enum { width = 19, height = 11, count = 300 };

texture<float, cudaTextureType2D, cudaReadModeElementType> picture;
texture<float, cudaTextureType2D, cudaReadModeElementType> rows;
texture<int, cudaTextureType1D, cudaReadModeElementType> numbers;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> colours;
texture<float, cudaTextureType2DLayered, cudaReadModeElementType> layers;

__global__ void sample(float *out, float *shifted, float4 *shares) {
    int x = threadIdx.x, y = blockIdx.x, i = y * width + x;
    out[i] = tex2D(picture, x + 1.0f, y + 0.5f);
    shifted[i] = tex2D(rows, x - 0.5f, y + 0.5f);
    shares[i] = tex2D(colours, (x + 0.5f) / width, (y + 0.5f) / height);
}

__global__ void fetch(int *out, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex1Dfetch(numbers, i + offset);
}

// Keeps the stream busy while the host continues.
__global__ void spin(int *out, int rounds) {
    int value = threadIdx.x;
    for (int i = 0; i < rounds; ++i) value = value * 1664525 + 1013904223;
    out[threadIdx.x] = value;
}

__global__ void sample_layers(float *out) {
    int x = threadIdx.x, layer = blockIdx.x;
    out[layer * width + x] = tex2DLayered(layers, x + 0.5f, 0.5f, layer);
}

int main() {
    std::vector<float> plane = random_values<float>(width * height, 0, 1);
    std::vector<unsigned char> bytes = random_values<unsigned char>(width * height * 4, 0, 255);
    auto at = [&](int x, int y) { return plane[y * width + std::min(std::max(x, 0), width - 1)]; };

    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), byte_format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array, byte_array;
    CHECK(cudaMallocArray(&array, &format, width, height));
    CHECK(cudaMemcpyToArray(array, 0, 0, plane.data(), plane.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMallocArray(&byte_array, &byte_format, width, height));
    CHECK(cudaMemcpy2DToArray(byte_array, 0, 0, bytes.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    picture.filterMode = cudaFilterModeLinear;
    picture.addressMode[0] = picture.addressMode[1] = cudaAddressModeClamp;
    CHECK(cudaBindTextureToArray(picture, array));
    colours.normalized = true;
    CHECK(cudaBindTextureToArray(colours, byte_array));

    float *device;
    size_t pitch, offset;
    CHECK(cudaMallocPitch(&device, &pitch, width * 4, height));
    CHECK(cudaMemcpy2D(device, pitch, plane.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    CHECK(cudaBindTexture2D(&offset, rows, device, format, width, height, pitch));
    EXPECT(offset == 0);

    DeviceArray<float> out(plane.size()), shifted(plane.size());
    DeviceArray<float4> shares(plane.size());
    sample<<<height, width>>>(out, shifted, shares);
    CHECK_KERNEL();
    std::vector<float> between, beside, wanted_shares;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            between.push_back((at(x, y) + at(x + 1, y)) / 2);
            beside.push_back(at(x - 1, y));
        }
    for (unsigned char byte : bytes) wanted_shares.push_back(byte / 255.0f);
    compare("between", out.download(), between, 1e-6);
    compare("beside", shifted.download(), beside);
    std::vector<float4> found = shares.download();
    compare("shares", &found[0].x, wanted_shares.data(), wanted_shares.size());

    // For an unaligned address, the kernel has to add the offset.
    std::vector<int> values = random_values<int>(count + 3, -1000, 1000);
    DeviceArray<int> memory(values), fetched(count);
    CHECK(cudaBindTexture(&offset, numbers, memory.get() + 3, count * sizeof(int)));
    EXPECT(offset == 3 * sizeof(int));
    fetch<<<3, 128>>>(fetched, offset / sizeof(int));
    CHECK_KERNEL();
    compare("numbers", fetched.download(), std::vector<int>(values.begin() + 3, values.end()));
    CHECK(cudaUnbindTexture(numbers));

    // A launch uses the binding at its submission, even if the reference is rebound before the launch starts.
    DeviceArray<int> late(count), spun(32), zeros(std::vector<int>(count, 0));
    CHECK(cudaBindTexture(&offset, numbers, memory.get(), count * sizeof(int)));
    spin<<<1, 32>>>(spun, 2000000);
    fetch<<<3, 128>>>(late, 0);
    CHECK(cudaBindTexture(&offset, numbers, zeros.get(), count * sizeof(int)));
    CHECK(cudaUnbindTexture(numbers));
    CHECK_KERNEL();
    compare("bound at the launch", late.download(), std::vector<int>(values.begin(), values.begin() + count));

    cudaArray_t stack;
    CHECK(cudaMalloc3DArray(&stack, &format, make_cudaExtent(width, 1, height), cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(plane.data(), width * 4, width, 1);
    copy.dstArray = stack;
    copy.extent = make_cudaExtent(width, 1, height);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    CHECK(cudaBindTextureToArray(layers, stack));
    sample_layers<<<height, width>>>(out);
    CHECK_KERNEL();
    compare("layers", out.download(), plane);
    return finish();
}
