// Layered textures, cubemaps and layered cubemaps: the layer is an index, and the direction determines the face.
#include "check.h"

enum { size = 8, layers = 3 };

__global__ void sample_layers(cudaTextureObject_t lines, cudaTextureObject_t planes, float *line, float *plane) {
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
    if (y == 0) line[layer * size + x] = tex1DLayered<float>(lines, x + 0.5f, layer);
    plane[(layer * size + y) * size + x] = tex2DLayered<float>(planes, (x + 0.5f) / size, (y + 0.5f) / size, layer);
}

// Returns the direction to the middle of a texel, by the programming guide's table of faces.
__host__ __device__ inline float3 direction(int face, int x, int y) {
    float s = 2 * (x + 0.5f) / size - 1, t = 2 * (y + 0.5f) / size - 1;
    switch (face) {
    case 0: return make_float3(1, -t, -s);
    case 1: return make_float3(-1, -t, s);
    case 2: return make_float3(s, 1, t);
    case 3: return make_float3(s, -1, -t);
    case 4: return make_float3(s, -t, 1);
    default: return make_float3(-s, -t, -1);
    }
}

__global__ void sample_cubes(cudaTextureObject_t cube, cudaTextureObject_t cubes, float *one, float *many) {
    int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x, layer = blockIdx.y;
    float3 at = direction(face, x, y);
    int i = (face * size + y) * size + x;
    if (layer == 0) one[i] = texCubemap<float>(cube, at.x * 3, at.y * 3, at.z * 3);
    many[layer * 6 * size * size + i] = texCubemapLayered<float>(cubes, at.x, at.y, at.z, layer);
}

static cudaTextureObject_t texture(const std::vector<float> &texels, cudaExtent extent, unsigned flags, bool normalized) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    int rows = extent.height ? extent.height : 1;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), extent.width * sizeof(float), extent.width, rows);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, rows, extent.depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    how.normalizedCoords = normalized;
    cudaTextureObject_t object;
    CHECK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    return object;
}

int main() {
    std::vector<float> line = random_values<float>(size * layers, 0, 1), plane = random_values<float>(size * size * layers, 0, 1);
    cudaTextureObject_t lines = texture(line, make_cudaExtent(size, 0, layers), cudaArrayLayered, false);
    cudaTextureObject_t planes = texture(plane, make_cudaExtent(size, size, layers), cudaArrayLayered, true);
    DeviceArray<float> line_out(line.size()), plane_out(plane.size());
    sample_layers<<<layers, dim3(size, size)>>>(lines, planes, line_out, plane_out);
    CHECK_KERNEL();
    compare("lines", line_out.download(), line);
    compare("planes", plane_out.download(), plane);

    std::vector<float> six = random_values<float>(size * size * 6, 0, 1), more = random_values<float>(size * size * 6 * layers, 0, 1);
    cudaTextureObject_t cube = texture(six, make_cudaExtent(size, size, 6), cudaArrayCubemap, true);
    cudaTextureObject_t cubes =
        texture(more, make_cudaExtent(size, size, 6 * layers), cudaArrayCubemap | cudaArrayLayered, true);
    DeviceArray<float> cube_out(six.size()), cubes_out(more.size());
    sample_cubes<<<dim3(6, layers), dim3(size, size)>>>(cube, cubes, cube_out, cubes_out);
    CHECK_KERNEL();
    compare("cube", cube_out.download(), six, 1e-2);
    compare("cubes", cubes_out.download(), more, 1e-2);

    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMalloc3DArray(&array, &format, make_cudaExtent(size, size, 5), cudaArrayCubemap));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMalloc3DArray(&array, &format, make_cudaExtent(size, 2, 6), cudaArrayCubemap));
    cudaGetLastError();
    return finish();
}
