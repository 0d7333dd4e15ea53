// Copies and memset of two- and three-dimensional regions between host memory and pitched device memory.
#include "check.h"

#include <cstring>

static const int width = 75, height = 40, depth = 6;

__global__ void double_plane(short *plane, size_t pitch) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) *((short *)((char *)plane + y * pitch) + x) *= 2;
}

__global__ void negate_volume(cudaPitchedPtr volume) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    char *row = (char *)volume.ptr + (z * volume.ysize + y) * volume.pitch;
    if (x < width) ((short *)row)[x] = -((short *)row)[x];
}

static void two_dimensions(const std::vector<short> &values) {
    const size_t row = width * sizeof(short);
    short *device;
    size_t pitch;
    CHECK(cudaMallocPitch(&device, &pitch, row, height));
    EXPECT(pitch >= row && pitch % 32 == 0);
    CHECK(cudaMemcpy2D(device, pitch, values.data(), row, row, height, cudaMemcpyHostToDevice));
    double_plane<<<dim3(3, 5), dim3(32, 8)>>>(device, pitch);
    CHECK_KERNEL();

    std::vector<short> got(width * height), wanted(width * height);
    for (int i = 0; i < width * height; ++i) wanted[i] = values[i] * 2;
    CHECK(cudaMemcpy2D(got.data(), row, device, pitch, row, height, cudaMemcpyDeviceToHost));
    compare("plane", got, wanted);

    // A window of 20 by 10 at (30, 7) goes to (1, 2), within the device.
    auto at = [&](int x, int y) { return (char *)device + y * pitch + x * sizeof(short); };
    CHECK(cudaMemcpy2D(at(1, 2), pitch, at(30, 17), pitch, 20 * sizeof(short), 10, cudaMemcpyDeviceToDevice));
    for (int y = 0; y < 10; ++y)
        for (int x = 0; x < 20; ++x) wanted[(y + 2) * width + x + 1] = wanted[(y + 17) * width + x + 30];
    CHECK(cudaMemcpy2DAsync(got.data(), row, device, pitch, row, height, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaDeviceSynchronize());
    compare("window", got, wanted);

    CHECK(cudaMemset2D(at(40, 0), pitch, 0x21, 5 * sizeof(short), height));
    for (int y = 0; y < height; ++y)
        for (int x = 40; x < 45; ++x) wanted[y * width + x] = 0x2121;
    CHECK(cudaMemcpy2D(got.data(), row, device, pitch, row, height, cudaMemcpyDeviceToHost));
    compare("memset of a column", got, wanted);

    EXPECT_ERROR(cudaErrorInvalidPitchValue, cudaMemcpy2D(device, 10, values.data(), row, row, 1, cudaMemcpyHostToDevice));
    cudaGetLastError();
    CHECK(cudaFree(device));
}

static void three_dimensions(const std::vector<short> &values) {
    const size_t row = width * sizeof(short);
    std::vector<short> host = values, wanted(values.size());
    cudaPitchedPtr device;
    CHECK(cudaMalloc3D(&device, make_cudaExtent(row, height, depth)));
    EXPECT(device.pitch >= row && device.ysize == height);

    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), row, width, height);
    copy.dstPtr = device;
    copy.extent = make_cudaExtent(row, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    negate_volume<<<dim3(height, depth), 96>>>(device);
    CHECK_KERNEL();

    std::vector<short> got(values.size());
    copy.srcPtr = device;
    copy.dstPtr = make_cudaPitchedPtr(got.data(), row, width, height);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (size_t i = 0; i < values.size(); ++i) wanted[i] = -values[i];
    compare("volume", got, wanted);

    // A box of 8 by 5 by 3 from (10, 20, 2) of the device to (3, 1, 0) of the host.
    copy.srcPos = make_cudaPos(10 * sizeof(short), 20, 2);
    copy.dstPos = make_cudaPos(3 * sizeof(short), 1, 0);
    copy.extent = make_cudaExtent(8 * sizeof(short), 5, 3);
    CHECK(cudaMemcpy3DAsync(&copy, 0));
    CHECK(cudaDeviceSynchronize());
    auto index = [](int x, int y, int z) { return (z * height + y) * width + x; };
    std::vector<short> boxed = wanted;
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 8; ++x) boxed[index(3 + x, 1 + y, z)] = wanted[index(10 + x, 20 + y, 2 + z)];
    compare("box", got, boxed);

    CHECK(cudaMemset3D(device, 0x5a, make_cudaExtent(row, height, 2)));
    copy = {};
    copy.srcPtr = device;
    copy.dstPtr = make_cudaPitchedPtr(got.data(), row, width, height);
    copy.extent = make_cudaExtent(row, height, depth);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (int i = 0; i < 2 * width * height; ++i) wanted[i] = 0x5a5a;
    compare("memset of two planes", got, wanted);
    CHECK(cudaFree(device.ptr));
}

int main() {
    std::vector<short> values = random_values<short>(width * height * depth, -16000, 16000);
    two_dimensions(values);
    three_dimensions(values);
    return finish();
}
