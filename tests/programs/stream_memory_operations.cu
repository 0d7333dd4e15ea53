//@ link: -lcuda
// Streams that write words and wait for them: every comparison, both widths, batches,
// waits that block neither the host nor other streams, and two alternating streams.
#include "check_driver.h"

#include <atomic>
#include <cstdint>
#include <cstring>

__global__ void set(int *word, int value) { *word = value; }
__global__ void append(int *list, int value) { list[1 + list[0]++] = value; }

int main() {
    CUstream waiting, other;
    CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    int supported = 0;
    DRIVER(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    EXPECT(supported == 1);

    volatile uint32_t *host;
    CHECK(cudaHostAlloc((void **)&host, 4096, cudaHostAllocMapped));
    memset((void *)host, 0, 4096);
    CUdeviceptr flag;
    DRIVER(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    CUdeviceptr wide = flag + 64;
    volatile uint64_t *host_wide = (volatile uint64_t *)(host + 16);

    // A write occurs in stream order.
    DeviceArray<int> cell(1);
    set<<<1, 1, 0, waiting>>>(cell, 7);
    DRIVER(cuStreamWriteValue32(waiting, CUdeviceptr(cell.get()), 9, CU_STREAM_WRITE_VALUE_DEFAULT));
    DRIVER(cuStreamWriteValue64(waiting, wide, 0x123456789abcull, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    CHECK(cudaStreamSynchronize(waiting));
    EXPECT(cell.download()[0] == 9);
    EXPECT(*host_wide == 0x123456789abcull);

    // A wait blocks only its own stream.
    DRIVER(cuStreamWaitValue32(waiting, flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
    set<<<1, 1, 0, waiting>>>(cell, 11);
    EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(waiting));
    set<<<1, 1, 0, other>>>(cell, 10);
    CHECK(cudaStreamSynchronize(other));
    EXPECT(cell.download()[0] == 10);
    EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(waiting));
    *host = 4;
    EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(waiting));
    *host = 6;
    CHECK(cudaStreamSynchronize(waiting));
    EXPECT(cell.download()[0] == 11);

    // The comparison is cyclic.
    *host = 1;
    DRIVER(cuStreamWaitValue32(waiting, flag, 0xfffffff0u, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cudaStreamSynchronize(waiting));

    // Other comparisons, satisfied by another stream.
    struct { unsigned flags; uint64_t value, before, after; } cases[] = {
        {CU_STREAM_WAIT_VALUE_EQ, 3, 4, 3},
        {CU_STREAM_WAIT_VALUE_AND, 6, 9, 12},
        {CU_STREAM_WAIT_VALUE_NOR, 0xffffffff0000000full, 0xfffffff0ull, 0xffffff70ull},
        {CU_STREAM_WAIT_VALUE_GEQ | CU_STREAM_WAIT_VALUE_FLUSH, 1ull << 40, 1, 1ull << 41},
    };
    for (auto &one : cases) {
        *host_wide = one.before;
        DRIVER(cuStreamWaitValue64(waiting, wide, one.value, one.flags));
        EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(waiting));
        DRIVER(cuStreamWriteValue64(other, wide, one.after, 0));
        CHECK(cudaStreamSynchronize(waiting));
    }

    // More waits than concurrent kernels of a device.
    std::vector<CUstream> many(200);
    *host = 0;
    for (auto &stream : many) {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        DRIVER(cuStreamWaitValue32(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    }
    set<<<1, 1, 0, other>>>((int *)flag, 1);
    for (auto &stream : many) {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }

    // Two streams alternate, each waiting for the other's word.
    const int rounds = 50;
    DeviceArray<int> list(2 * rounds + 1);
    list.fill(0);
    DRIVER(cuMemsetD32(flag, 0, 1));
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; ++round) {
        DRIVER(cuStreamWaitValue32(waiting, flag, 2 * round, CU_STREAM_WAIT_VALUE_EQ));
        append<<<1, 1, 0, waiting>>>(list, 2 * round);
        DRIVER(cuStreamWriteValue32(waiting, flag, 2 * round + 1, 0));
        DRIVER(cuStreamWaitValue32(other, flag, 2 * round + 1, CU_STREAM_WAIT_VALUE_EQ));
        append<<<1, 1, 0, other>>>(list, 2 * round + 1);
        DRIVER(cuStreamWriteValue32(other, flag, 2 * round + 2, 0));
    }
    CHECK(cudaDeviceSynchronize());
    std::vector<int> got = list.download();
    EXPECT(got[0] == 2 * rounds);
    for (int i = 0; i < 2 * rounds; ++i) EXPECT(got[1 + i] == i);

    // A batch runs in order.
    CUstreamBatchMemOpParams batch[4] = {};
    batch[0].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    batch[0].waitValue.address = flag;
    batch[0].waitValue.value = 77;
    batch[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    batch[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    batch[1].writeValue.address = wide;
    batch[1].writeValue.value64 = 1ull << 50;
    batch[2].operation = CU_STREAM_MEM_OP_BARRIER;
    batch[3].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    batch[3].writeValue.address = flag;
    batch[3].writeValue.value = 78;
    *host_wide = 0;
    DRIVER(cuStreamBatchMemOp(waiting, 4, batch, 0));
    EXPECT(*host_wide == 0);
    DRIVER(cuStreamWriteValue32(other, flag, 77, 0));
    CHECK(cudaStreamSynchronize(waiting));
    EXPECT(*host_wide == 1ull << 50);
    EXPECT(*host == 78);

    // Errors.
    int pageable[2];
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(waiting, flag + 2, 0, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64(waiting, flag + 4, 0, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(waiting, 0, 0, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(waiting, CUdeviceptr(pageable), 0, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(waiting, flag, 0, 4));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(waiting, 257, batch, 0));
    batch[0].operation = CUstreamBatchMemOpType(99);
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(waiting, 1, batch, 0));
    CHECK(cudaStreamDestroy(waiting));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFreeHost((void *)host));
    return finish();
}
