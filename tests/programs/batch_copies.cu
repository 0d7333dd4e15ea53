//@ link: -lcuda
// Copies with attributes: batches of linear and box copies, the time of source reads, and errors.
#include "check_driver.h"

#include <dlfcn.h>

__global__ void fill(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = value + i;
}

static void CUDART_CB change(void *data) { *static_cast<int *>(data) = 5; }

int main() {
    const int count = 1000;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    DeviceArray<int> first(count), second(count), third(count);
    std::vector<int> up = random_values<int>(count, 0, 1 << 20), down(count), wanted(count);
    cudaMemcpyAttributes in_order = {}, at_once = {};
    in_order.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    at_once.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;

    // From host to device, between devices and from device to host, after a kernel.
    fill<<<(count + 255) / 256, 256, 0, stream>>>(second, count, 7);
    const void *from[] = {up.data(), second.get(), second.get()};
    void *to[] = {first.get(), third.get(), down.data()};
    size_t sizes[] = {count * sizeof(int), count * sizeof(int), count * sizeof(int)};
    cudaMemcpyAttributes attributes[] = {at_once, in_order};
    size_t starts[] = {0, 1};
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, stream));
    std::vector<int> sent = up;
    for (int &value : up) value = -1;
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; ++i) wanted[i] = 7 + i;
    compare("read during the call", first.download(), sent);
    compare("device to device", third.download(), wanted);
    compare("device to host", down, wanted);

    // A source is read in stream order, or before the call returns.
    int word = 1;
    CHECK(cudaLaunchHostFunc(stream, change, &word));
    CHECK(cudaMemcpyWithAttributesAsync(first, &word, sizeof word, &in_order, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(first.download()[0] == 5);
    word = 1;
    cudaEvent_t gate;
    CHECK(cudaEventCreate(&gate));
    CHECK(cudaMemcpyWithAttributesAsync(first, &word, sizeof word, &at_once, stream));
    word = 6;
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(first.download()[0] == 1);
    CHECK(cudaEventDestroy(gate));

    // Boxes: memory to array, array to memory, and memory to memory with other row and layer pitches.
    const int width = 8, height = 5, depth = 3, row = 10, rows = 6;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width + 2, height + 1, depth + 1)));
    std::vector<int> box(row * rows * depth), packed(width * height * depth), kept(width * height * depth);
    for (size_t i = 0; i < box.size(); ++i) box[i] = int(i);
    cudaMemcpy3DBatchOp operation = {};
    operation.src.type = cudaMemcpyOperandTypePointer;
    operation.src.op.ptr.ptr = box.data();
    operation.src.op.ptr.rowLength = row;
    operation.src.op.ptr.layerHeight = rows;
    operation.dst.type = cudaMemcpyOperandTypeArray;
    operation.dst.op.array.array = array;
    operation.dst.op.array.offset = {1, 1, 1};
    operation.extent = make_cudaExtent(width, height, depth);
    operation.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CHECK(cudaMemcpy3DBatchAsync(1, &operation, 0, stream));
    cudaMemcpy3DBatchOp back = operation;
    back.src = operation.dst;
    back.dst = operation.src;
    back.dst.op.ptr.ptr = packed.data();
    back.dst.op.ptr.rowLength = back.dst.op.ptr.layerHeight = 0;
    CHECK(cudaMemcpy3DWithAttributesAsync(&back, 0, stream));
    cudaMemcpy3DBatchOp bytes = operation;
    bytes.src.op.ptr.rowLength = row * sizeof(int);
    bytes.dst.type = cudaMemcpyOperandTypePointer;
    bytes.dst.op.ptr.ptr = kept.data();
    bytes.dst.op.ptr.rowLength = bytes.dst.op.ptr.layerHeight = 0;
    bytes.extent.width = width * sizeof(int);
    CHECK(cudaMemcpy3DBatchAsync(1, &bytes, 0, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> inner;
    for (int z = 0; z < depth; ++z)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) inner.push_back(box[(z * rows + y) * row + x]);
    compare("through the array", packed, inner);
    compare("bytes", kept, inner);

    // Errors.
    const auto wrong = cudaErrorInvalidValue;
    EXPECT_ERROR(wrong, cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, nullptr));
    EXPECT_ERROR(wrong, cudaMemcpyBatchAsync(to, from, sizes, 0, attributes, starts, 2, stream));
    EXPECT_ERROR(wrong, cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 0, stream));
    EXPECT_ERROR(wrong, cudaMemcpyBatchAsync(to, from, sizes, 1, attributes, starts, 2, stream));
    size_t falling[] = {0, 0};
    EXPECT_ERROR(wrong, cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, falling, 2, stream));
    attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    EXPECT_ERROR(wrong, cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, starts, 2, stream));
    operation.extent.depth = 0;
    EXPECT_ERROR(wrong, cudaMemcpy3DBatchAsync(1, &operation, 0, stream));
    operation.extent.depth = depth + 1;
    EXPECT_ERROR(wrong, cudaMemcpy3DBatchAsync(1, &operation, 0, stream));
    operation.extent.depth = depth;
    operation.src.op.ptr.rowLength = width - 1;
    EXPECT_ERROR(wrong, cudaMemcpy3DBatchAsync(1, &operation, 0, stream));
    cudaGetLastError();

    // Since CUDA 12.8, the error names the failed copy.
    using Batch = CUresult (*)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t,
                               size_t *, CUstream);
    auto batch = reinterpret_cast<Batch>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyBatchAsync"));
    CUdeviceptr targets[] = {CUdeviceptr(first.get()), CUdeviceptr(second.get())};
    CUdeviceptr sources[] = {CUdeviceptr(third.get()), CUdeviceptr(third.get())};
    size_t too_long[] = {4, count * sizeof(int) + 1}, start = 0, failed = 77;
    CUmemcpyAttributes usual = {};
    usual.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    EXPECT(batch(targets, sources, too_long, 2, &usual, &start, 1, &failed, stream) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(failed == 1);
    EXPECT(batch(targets, sources, too_long, 2, &usual, &start, 3, &failed, stream) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(failed == SIZE_MAX);
    CHECK(cudaFreeArray(array));
    CHECK(cudaStreamDestroy(stream));
    return finish();
}
