// A mipmapped array whose levels a kernel computes with surface writes from texture reads;
// then sampling by level and by derivatives, with point and linear filtering between levels.
#include "check.h"

enum { size = 64, levels = 7 };

__global__ void halve(cudaTextureObject_t finer, cudaSurfaceObject_t coarser, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < width)
        surf2Dwrite(tex2D<float>(finer, (x + 0.5f) / width, (y + 0.5f) / width), coarser, x * sizeof(float), y);
}

__global__ void read_levels(cudaTextureObject_t texture, const float *lods, float *by_level, float *by_gradient, int count) {
    int i = threadIdx.x;
    if (i >= count) return;
    by_level[i] = tex2DLod<float>(texture, 0.5f, 0.5f, lods[i]);
    float step = exp2f(lods[i]) / size;
    by_gradient[i] = tex2DGrad<float>(texture, 0.5f, 0.5f, make_float2(step, 0), make_float2(0, step));
}

static cudaTextureObject_t texture_of(cudaResourceDesc resource, cudaTextureFilterMode between) {
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.mipmapFilterMode = between;
    how.normalizedCoords = 1;
    how.maxMipmapLevelClamp = levels - 1;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

int main() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mipmapped;
    CHECK(cudaMallocMipmappedArray(&mipmapped, &format, make_cudaExtent(size, size, 0), levels, cudaArraySurfaceLoadStore));
    std::vector<std::vector<float>> wanted(levels);
    wanted[0] = random_values<float>(size * size, 0, 1000);
    for (float &texel : wanted[0]) texel = std::floor(texel);
    cudaArray_t level;
    CHECK(cudaGetMipmappedArrayLevel(&level, mipmapped, 0));
    CHECK(cudaMemcpy2DToArray(level, 0, 0, wanted[0].data(), size * 4, size * 4, size, cudaMemcpyHostToDevice));
    for (int number = 1; number < levels; ++number) {
        int width = size >> number;
        cudaResourceDesc finer = {}, coarser = {};
        finer.resType = coarser.resType = cudaResourceTypeArray;
        CHECK(cudaGetMipmappedArrayLevel(&finer.res.array.array, mipmapped, number - 1));
        CHECK(cudaGetMipmappedArrayLevel(&coarser.res.array.array, mipmapped, number));
        cudaExtent extent;
        CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, coarser.res.array.array));
        EXPECT(extent.width == width && extent.height == width);
        cudaTextureObject_t from = texture_of(finer, cudaFilterModePoint);
        cudaSurfaceObject_t to;
        CHECK(cudaCreateSurfaceObject(&to, &coarser));
        halve<<<dim3((width + 7) / 8, (width + 7) / 8), dim3(8, 8)>>>(from, to, width);
        CHECK_KERNEL();
        for (int y = 0; y < width; ++y)
            for (int x = 0; x < width; ++x) {
                const float *corner = &wanted[number - 1][2 * (y * 2 * width + x)];
                wanted[number].push_back((corner[0] + corner[1] + corner[2 * width] + corner[2 * width + 1]) / 4);
            }
        std::vector<float> got(width * width);
        CHECK(cudaMemcpy2DFromArray(got.data(), width * 4, coarser.res.array.array, 0, 0, width * 4, width, cudaMemcpyDeviceToHost));
        compare("level", got, wanted[number]);
        CHECK(cudaDestroyTextureObject(from));
        CHECK(cudaDestroySurfaceObject(to));
    }
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&level, mipmapped, levels));
    cudaGetLastError();

    // The middle of each level is the mean of its four middle texels; the last level has one texel.
    std::vector<float> middle;
    for (int number = 0; number < levels; ++number) {
        int width = size >> number, half = width / 2;
        const std::vector<float> &texels = wanted[number];
        middle.push_back(width == 1 ? texels[0]
                                    : (texels[(half - 1) * width + half - 1] + texels[(half - 1) * width + half] +
                                       texels[half * width + half - 1] + texels[half * width + half]) / 4);
    }
    std::vector<float> lods = {0, 1, 2.25f, 3.75f, 5, 6};
    DeviceArray<float> at(lods), by_level(lods.size()), by_gradient(lods.size());
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmapped;
    for (cudaTextureFilterMode between : {cudaFilterModePoint, cudaFilterModeLinear}) {
        cudaTextureObject_t texture = texture_of(resource, between);
        read_levels<<<1, 32>>>(texture, at, by_level, by_gradient, lods.size());
        CHECK_KERNEL();
        std::vector<float> expected;
        for (float lod : lods) {
            int finer = (int)lod;
            float part = between == cudaFilterModeLinear ? lod - finer : std::round(lod - finer);
            expected.push_back(middle[finer] + (part > 0 ? part * (middle[finer + 1] - middle[finer]) : 0));
        }
        compare("by level", by_level.download(), expected, 1e-5);
        compare("by gradient", by_gradient.download(), expected, 1e-2);
        CHECK(cudaDestroyTextureObject(texture));
    }
    CHECK(cudaFreeMipmappedArray(mipmapped));
    return finish();
}
