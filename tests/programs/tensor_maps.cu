//@ modes: shared
//@ arch: compute_90
//@ device: h100
//@ link: -lcuda
// Tensor maps: tiles of a matrix are copied to shared memory by coordinates, doubled and copied back,
// also at its edges. A swizzled tile is transposed without bank conflicts. Invalid maps are refused.
#include "check.h"

#include <cuda.h>

#include <cstdint>
#include <vector>

constexpr int columns = 60, rows = 44, pitch = 64;
constexpr int width = 32, height = 16;

static __device__ unsigned shared_address(const void *pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }

static __device__ void start(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

static __device__ void wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

static __device__ void load(void *tile, const CUtensorMap &map, int x, int y, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(tile)),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

static __device__ void store(const CUtensorMap &map, int x, int y, const void *tile) {
    asm volatile("fence.proxy.async.shared::cta;\n"
                 "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(&map),
                 "r"(x), "r"(y), "r"(shared_address(tile))
                 : "memory");
}

__global__ void twice(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(128) float tile[height][width];
    __shared__ uint64_t barrier;
    unsigned arrivals = shared_address(&barrier);
    int x = blockIdx.x * width, y = blockIdx.y * height;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(arrivals));
        start(arrivals, sizeof tile);
        load(tile, from, x, y, arrivals);
    }
    __syncthreads();
    wait(arrivals, 0);
    for (int i = threadIdx.x; i < width * height; i += blockDim.x) tile[i / width][i % width] *= 2;
    __syncthreads();
    if (threadIdx.x == 0) store(to, x, y, tile);
}

// A tile of 32 by 32 whose 16-byte chunks are permuted by row, read by columns.
__global__ void transpose(const __grid_constant__ CUtensorMap from, float *to) {
    __shared__ alignas(1024) float tile[32][32];
    __shared__ uint64_t barrier;
    unsigned arrivals = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(arrivals));
        start(arrivals, sizeof tile);
        load(tile, from, 0, 0, arrivals);
    }
    __syncthreads();
    wait(arrivals, 0);
    int row = threadIdx.x;
    for (int column = 0; column < 32; ++column)
        to[column * 32 + row] = tile[row][((column / 4) ^ (row % 8)) * 4 + column % 4];
}

static CUresult encode(CUtensorMap &map, void *memory, cuuint32_t box_x, cuuint32_t box_y,
                       CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE, cuuint64_t stride = pitch * sizeof(float)) {
    cuuint64_t sizes[] = {columns, rows}, strides[] = {stride};
    cuuint32_t box[] = {box_x, box_y}, steps[] = {1, 1};
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, sizes, strides, box, steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

int main() {
    std::vector<float> input(pitch * rows), expected(pitch * rows, -1);
    for (size_t i = 0; i < input.size(); ++i) input[i] = float(i);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) expected[y * pitch + x] = 2 * input[y * pitch + x];
    DeviceArray<float> from(input), to(std::vector<float>(pitch * rows, -1)), turned(32 * 32);

    CUtensorMap first, second;
    EXPECT(encode(first, (float *)from, width, height) == CUDA_SUCCESS);
    second = first;
    EXPECT(cuTensorMapReplaceAddress(&second, (float *)to) == CUDA_SUCCESS);
    twice<<<dim3(2, 3), 64>>>(first, second);
    CHECK_KERNEL();
    compare("doubled", to.download(), expected);

    EXPECT(encode(first, (float *)from, 32, 32, CU_TENSOR_MAP_SWIZZLE_128B) == CUDA_SUCCESS);
    transpose<<<1, 32>>>(first, turned);
    CHECK_KERNEL();
    std::vector<float> wanted(32 * 32);
    for (int y = 0; y < 32; ++y)
        for (int x = 0; x < 32; ++x) wanted[x * 32 + y] = input[y * pitch + x];
    compare("transposed", turned.download(), wanted);

    EXPECT(encode(first, (char *)(float *)from + 8, width, height) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(encode(first, (float *)from, 257, height) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(encode(first, (float *)from, 3, height) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(encode(first, (float *)from, 64, height, CU_TENSOR_MAP_SWIZZLE_128B) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(encode(first, (float *)from, width, height, CU_TENSOR_MAP_SWIZZLE_NONE, 250) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuTensorMapReplaceAddress(&second, (char *)(float *)to + 4) == CUDA_ERROR_INVALID_VALUE);
    return finish();
}
