// Texture objects of one to three dimensions: filters, address modes, normalized coordinates and reads, against the
// formulas of the CUDA programming guide (texture fetching).
//@ modes: shared static clang
#include "check.h"

enum { nx = 13, ny = 7, nz = 5 };

__global__ void sample_1d(cudaTextureObject_t texture, const float *at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex1D<float>(texture, at[i]);
}
__global__ void sample_2d(cudaTextureObject_t texture, const float *at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex2D<float>(texture, at[3 * i], at[3 * i + 1]);
}
__global__ void sample_3d(cudaTextureObject_t texture, const float *at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex3D<float>(texture, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
}
__global__ void sample_bytes(cudaTextureObject_t numbers, cudaTextureObject_t bytes, float4 *out, uchar4 *raw) {
    int x = threadIdx.x, y = threadIdx.y, i = y * blockDim.x + x;
    out[i] = tex2D<float4>(numbers, x + 0.5f, y + 0.5f);
    raw[i] = tex2D<uchar4>(bytes, x + 0.5f, y + 0.5f);
}

struct Image {
    int size[3];
    std::vector<float> texels;
    cudaTextureAddressMode mode;
    bool linear, normalized;

    // A texel by its indices, which may lie outside.
    double texel(const long *index) const {
        size_t place = 0;
        for (int axis = 2; axis >= 0; --axis) {
            long n = size[axis], i = index[axis];
            bool repeats = normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror);
            if (mode == cudaAddressModeBorder && (i < 0 || i >= n)) return 0;
            if (repeats) {
                long turn = (long)std::floor(double(i) / n);
                i -= turn * n;
                if (mode == cudaAddressModeMirror && turn % 2 != 0) i = n - 1 - i;
            }
            i = std::min(std::max(i, 0L), n - 1);
            place = place * n + i;
        }
        return texels[place];
    }

    // The guide's formulas; weights have 8 bits of fraction.
    double at(const float *coordinates, int dimensions) const {
        long first[3] = {0, 0, 0};
        double weight[3] = {0, 0, 0};
        for (int axis = 0; axis < dimensions; ++axis) {
            double x = normalized ? double(coordinates[axis]) * size[axis] : coordinates[axis];
            if (linear) {
                double steps = std::floor(x * 256 + 0.5) - 128;
                first[axis] = (long)std::floor(steps / 256);
                weight[axis] = steps / 256 - first[axis];
            } else {
                first[axis] = (long)std::floor(x);
            }
        }
        double sum = 0;
        for (int corner = 0; corner < 1 << dimensions; ++corner) {
            long index[3] = {first[0], first[1], first[2]};
            double product = 1;
            for (int axis = 0; axis < dimensions; ++axis) {
                int next = corner >> axis & 1;
                index[axis] += next;
                product *= next ? weight[axis] : 1 - weight[axis];
            }
            if (product > 0) sum += product * texel(index);
        }
        return sum;
    }
};

static cudaArray_t upload(const std::vector<float> &texels, int dimensions) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(nx, dimensions > 1 ? ny : 0, dimensions > 2 ? nz : 0);
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), nx * sizeof(float), nx, dimensions > 1 ? ny : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(nx, dimensions > 1 ? ny : 1, dimensions > 2 ? nz : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void filters_and_address_modes(int dimensions) {
    const int count = 1000;
    Image image = {{nx, dimensions > 1 ? ny : 1, dimensions > 2 ? nz : 1}};
    image.texels = random_values<float>(nx * ny * nz, -100, 100, dimensions);
    cudaArray_t array = upload(image.texels, dimensions);
    DeviceArray<float> out(count);
    for (int variant = 0; variant < 16; ++variant) {
        image.mode = cudaTextureAddressMode(variant & 3);
        image.linear = variant & 4;
        image.normalized = variant & 8;
        float reach = image.normalized ? 2.5f : 20;
        std::vector<float> places = random_values<float>(3 * count, -reach, reach, variant);
        if (dimensions == 1)
            for (int i = 0; i < count; ++i) places[i] = places[3 * i];
        DeviceArray<float> at(places);

        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc how = {};
        for (cudaTextureAddressMode &mode : how.addressMode) mode = image.mode;
        how.filterMode = image.linear ? cudaFilterModeLinear : cudaFilterModePoint;
        how.normalizedCoords = image.normalized;
        cudaTextureObject_t texture;
        CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
        auto kernel = dimensions == 1 ? sample_1d : dimensions == 2 ? sample_2d : sample_3d;
        kernel<<<4, 256>>>(texture, at, out, count);
        CHECK_KERNEL();
        std::vector<float> wanted(count);
        for (int i = 0; i < count; ++i) wanted[i] = image.at(&places[dimensions == 1 ? i : 3 * i], dimensions);
        compare("samples", out.download(), wanted, 1e-5);
        CHECK(cudaDestroyTextureObject(texture));
    }
    CHECK(cudaFreeArray(array));
}

static void bytes_as_numbers() {
    const int width = 16, height = 8;
    std::vector<unsigned char> bytes = random_values<unsigned char>(width * height * 4, 0, 255);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, width, height));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, bytes.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t raw, numbers;
    CHECK(cudaCreateTextureObject(&raw, &resource, &how, nullptr));
    how.readMode = cudaReadModeNormalizedFloat;
    how.filterMode = cudaFilterModeLinear;
    CHECK(cudaCreateTextureObject(&numbers, &resource, &how, nullptr));
    DeviceArray<float4> out(width * height);
    DeviceArray<uchar4> stored(width * height);
    sample_bytes<<<1, dim3(width, height)>>>(numbers, raw, out, stored);
    CHECK_KERNEL();
    std::vector<float> wanted;
    for (unsigned char byte : bytes) wanted.push_back(byte / 255.0f);
    std::vector<float4> got = out.download();
    std::vector<uchar4> got_raw = stored.download();
    compare("numbers", &got[0].x, wanted.data(), wanted.size());
    compare("bytes", &got_raw[0].x, bytes.data(), bytes.size());
    how.readMode = cudaReadModeElementType;
    EXPECT_ERROR(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&numbers, &resource, &how, nullptr));
    cudaGetLastError();
}

int main() {
    for (int dimensions = 1; dimensions <= 3; ++dimensions) filters_and_address_modes(dimensions);
    bytes_as_numbers();
    return finish();
}
