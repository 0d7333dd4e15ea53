// Surfaces of one to three dimensions, layers and cubes: x in bytes, boundary modes, all widths.
#include "check.h"

enum { nx = 16, ny = 6, nz = 4 };

__global__ void write_and_read(cudaSurfaceObject_t line, cudaSurfaceObject_t plane, cudaSurfaceObject_t volume, int *found) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    if (y == 0 && z == 0) surf1Dwrite(short(100 + x), line, x * sizeof(short));
    if (z == 0) surf2Dwrite(make_int4(x, y, x * y, -1), plane, x * sizeof(int4), y);
    surf3Dwrite((unsigned char)(x + 16 * z + y), volume, x, y, z);
    // Outside of the surface, writes are dropped and reads give 0, or the edge is used.
    surf2Dwrite(make_int4(9, 9, 9, 9), plane, (nx + x) * sizeof(int4), y, cudaBoundaryModeZero);
    __syncthreads();
    if (x == 0 && y == 0 && z == 0) {
        found[0] = surf2Dread<int4>(plane, nx * sizeof(int4), 0, cudaBoundaryModeZero).w;
        found[1] = surf2Dread<int>(plane, 15 * sizeof(int4), 0, cudaBoundaryModeTrap);
        found[2] = surf1Dread<short>(line, -8, cudaBoundaryModeZero);
    }
}

__global__ void edges(cudaSurfaceObject_t line, int *found) {
    found[0] = surf1Dread<short>(line, 1000, cudaBoundaryModeClamp);
    found[1] = surf1Dread<short>(line, -1000, cudaBoundaryModeClamp);
}

__global__ void layers(cudaSurfaceObject_t layered, cudaSurfaceObject_t cube, long long *sum) {
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
    if (layer < nz) surf2DLayeredwrite(1000LL * layer + 10 * y + x, layered, x * 8, y, layer);
    surfCubemapwrite(make_float2(x, layer), cube, x * 8, y, layer);
    __syncthreads();
    if (x == 0 && y == 0) {
        float2 corner;
        surfCubemapread(&corner, cube, 5 * 8, 3, layer);
        sum[layer] = (long long)(corner.x * 10 + corner.y) + (layer < nz ? surf2DLayeredread<long long>(layered, 8, 2, layer) : 0);
    }
}

static cudaSurfaceObject_t surface(cudaChannelFormatDesc format, cudaExtent extent, unsigned flags, cudaArray_t *array) {
    CHECK(cudaMalloc3DArray(array, &format, extent, flags | cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = *array;
    cudaSurfaceObject_t object;
    CHECK(cudaCreateSurfaceObject(&object, &resource));
    return object;
}

int main() {
    cudaArray_t line, plane, volume, layered, cube;
    cudaSurfaceObject_t one = surface(cudaCreateChannelDesc<short>(), make_cudaExtent(nx, 0, 0), 0, &line);
    cudaSurfaceObject_t two = surface(cudaCreateChannelDesc<int4>(), make_cudaExtent(nx, ny, 0), 0, &plane);
    cudaSurfaceObject_t three = surface(cudaCreateChannelDesc<unsigned char>(), make_cudaExtent(nx, ny, nz), 0, &volume);
    DeviceArray<int> found(3);
    write_and_read<<<dim3(ny, nz), nx>>>(one, two, three, found);
    CHECK_KERNEL();
    compare("reads", found.download(), {0, 15, 0});
    edges<<<1, 1>>>(one, found);
    CHECK_KERNEL();
    compare("edges", found.download(), {100 + nx - 1, 100, 0});

    std::vector<int> wanted(nx * ny * 4), got(nx * ny * 4);
    for (int i = 0; i < nx * ny; ++i) {
        int x = i % nx, y = i / nx, values[4] = {x, y, x * y, -1};
        for (int channel = 0; channel < 4; ++channel) wanted[4 * i + channel] = values[channel];
    }
    CHECK(cudaMemcpy2DFromArray(got.data(), nx * 16, plane, 0, 0, nx * 16, ny, cudaMemcpyDeviceToHost));
    compare("plane", got, wanted);
    std::vector<unsigned char> bytes(nx * ny * nz), expected(nx * ny * nz);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = volume;
    copy.dstPtr = make_cudaPitchedPtr(bytes.data(), nx, nx, ny);
    copy.extent = make_cudaExtent(nx, ny, nz);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x) expected[(z * ny + y) * nx + x] = x + 16 * z + y;
    compare("volume", bytes, expected);

    cudaSurfaceObject_t stack = surface(cudaCreateChannelDesc<int2>(), make_cudaExtent(8, 8, nz), cudaArrayLayered, &layered);
    cudaSurfaceObject_t faces = surface(cudaCreateChannelDesc<float2>(), make_cudaExtent(8, 8, 6), cudaArrayCubemap, &cube);
    DeviceArray<long long> sums(6);
    layers<<<6, dim3(8, 8)>>>(stack, faces, sums);
    CHECK_KERNEL();
    std::vector<long long> totals;
    for (int layer = 0; layer < 6; ++layer) totals.push_back(50 + layer + (layer < nz ? 1000 * layer + 21 : 0));
    compare("layers", sums.download(), totals);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&resource.res.array.array, &format, 4, 4));
    cudaSurfaceObject_t object;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaCreateSurfaceObject(&object, &resource));
    cudaGetLastError();

    // In the default boundary mode, an access outside ends the kernel.
    write_and_read<<<dim3(ny + 1, nz), nx>>>(one, two, three, found);
    EXPECT_ERROR(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    return finish();
}
