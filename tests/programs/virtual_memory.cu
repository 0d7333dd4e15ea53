//@ mistakes: it reads addresses behind which there is no memory
//@ link: -lcuda
// Virtual memory management: reserved addresses, the same memory at several addresses, a range of several
// pieces, memory that outlives its handle, export to a file descriptor, and memory without access.
#include "check_driver.h"

#include <cstdint>
#include <unistd.h>

__global__ void add(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += value + i;
}

static CUmemAllocationProp properties() {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

static void let_access(CUdeviceptr at, size_t size, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    DRIVER(cuMemSetAccess(at, size, &access, 1));
}

int main() {
    CHECK(cudaFree(nullptr));
    int supported = 0;
    DRIVER(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    EXPECT(supported == 1);
    CUmemAllocationProp prop = properties();
    size_t unit = 0;
    DRIVER(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT(unit > 0 && (unit & (unit - 1)) == 0);

    size_t free_at_start, total;
    CHECK(cudaMemGetInfo(&free_at_start, &total));

    // Reserved addresses take no memory.
    CUdeviceptr range;
    DRIVER(cuMemAddressReserve(&range, 64 * unit, 0, 0, 0));
    size_t free_now;
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now == free_at_start);
    EXPECT(range % unit == 0);

    // Two adjacent mappings are one range to kernels and copies.
    CUmemGenericAllocationHandle first, second;
    DRIVER(cuMemCreate(&first, unit, &prop, 0));
    DRIVER(cuMemCreate(&second, unit, &prop, 0));
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now == free_at_start - 2 * unit);
    DRIVER(cuMemMap(range, unit, 0, first, 0));
    DRIVER(cuMemMap(range + unit, unit, 0, second, 0));
    let_access(range, 2 * unit);
    const int count = int(2 * unit / sizeof(int));
    int *data = reinterpret_cast<int *>(range);
    CHECK(cudaMemset(data, 0, 2 * unit));
    add<<<(count + 255) / 256, 256>>>(data, count, 5);
    CHECK_KERNEL();
    std::vector<int> got(count), wanted(count);
    for (int i = 0; i < count; ++i) wanted[i] = 5 + i;
    CHECK(cudaMemcpy(got.data(), data, 2 * unit, cudaMemcpyDeviceToHost));
    compare("two pieces", got, wanted);

    // The same memory at another address.
    CUdeviceptr alias;
    DRIVER(cuMemAddressReserve(&alias, unit, 0, 0, 0));
    DRIVER(cuMemMap(alias, unit, 0, second, 0));
    let_access(alias, unit);
    int *second_half = reinterpret_cast<int *>(alias);
    add<<<count / 2 / 256, 256>>>(second_half, count / 2, 100);
    CHECK_KERNEL();
    for (int i = 0; i < count / 2; ++i) wanted[count / 2 + i] += 100 + i;
    CHECK(cudaMemcpy(got.data(), data, 2 * unit, cudaMemcpyDeviceToHost));
    compare("alias", got, wanted);

    // Properties of the allocations.
    CUmemAllocationProp found = {};
    DRIVER(cuMemGetAllocationPropertiesFromHandle(&found, first));
    EXPECT(found.type == prop.type && found.requestedHandleTypes == prop.requestedHandleTypes);
    CUmemGenericAllocationHandle again;
    DRIVER(cuMemRetainAllocationHandle(&again, reinterpret_cast<void *>(range + unit + 100)));
    EXPECT(again == second);
    DRIVER(cuMemRelease(again));
    unsigned long long flags = 0;
    CUmemLocation here = {};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    DRIVER(cuMemGetAccess(&flags, &here, range));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

    // A descriptor refers to the same memory.
    int descriptor = -1;
    DRIVER(cuMemExportToShareableHandle(&descriptor, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemGenericAllocationHandle imported;
    DRIVER(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void *>(intptr_t(descriptor)),
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    DRIVER(cuMemMap(range + 2 * unit, unit, 0, imported, 0));
    let_access(range + 2 * unit, unit);
    std::vector<int> start(count / 2);
    CHECK(cudaMemcpy(start.data(), reinterpret_cast<void *>(range + 2 * unit), unit, cudaMemcpyDeviceToHost));
    compare("imported", start.data(), wanted.data(), start.size());
    DRIVER(cuMemUnmap(range + 2 * unit, unit));
    DRIVER(cuMemRelease(imported));

    // Memory outlives its handle while it is mapped.
    DRIVER(cuMemRelease(first));
    DRIVER(cuMemRelease(second));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemRelease(second));
    DRIVER(cuMemUnmap(alias, unit));
    DRIVER(cuMemAddressFree(alias, unit));
    CHECK(cudaMemcpy(got.data(), data, 2 * unit, cudaMemcpyDeviceToHost));
    compare("after the release", got, wanted);
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now == free_at_start - 2 * unit);

    // Errors.
    CUmemGenericAllocationHandle handle;
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, unit + 1, &prop, 0));
    EXPECT_DRIVER(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, (total / unit + 1) * unit, &prop, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, unit / 2));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, unit));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 64 * unit));
    DRIVER(cuMemCreate(&handle, unit, &prop, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, unit, 0, handle, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + 64 * unit, unit, 0, handle, 0));
    EXPECT_DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + 4 * unit, 2 * unit, 0, handle, 0));
    DRIVER(cuMemRelease(handle));
    int number;
    EXPECT_DRIVER(CUDA_ERROR_NOT_SUPPORTED,
                  cuMemGetHandleForAddressRange(&number, range, unit, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));

    // Copies cannot access reserved addresses or mappings without access.
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(reinterpret_cast<void *>(range + 2 * unit), 0, 4));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(data, 0, 2 * unit + 1));
    let_access(range, unit, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(data, 0, 4));
    let_access(range, unit);
    CHECK(cudaMemset(data, 0, 4));
    cudaGetLastError();

    // Memory is released with its last mapping, and its addresses can be reused.
    DRIVER(cuMemUnmap(range, 2 * unit));
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now == free_at_start);
    DRIVER(cuMemAddressFree(range, 64 * unit));
    CUdeviceptr hinted;
    DRIVER(cuMemAddressReserve(&hinted, 4 * unit, 0, range, 0));
    EXPECT(hinted == range);

    // Host memory by handle, which the host can also access.
    CUmemAllocationProp on_host = properties();
    on_host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    DRIVER(cuMemCreate(&handle, unit, &on_host, 0));
    CHECK(cudaMemGetInfo(&free_now, &total));
    EXPECT(free_now == free_at_start);
    DRIVER(cuMemMap(hinted, unit, 0, handle, 0));
    CUmemAccessDesc both[2] = {};
    both[0].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    both[1].location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    both[0].flags = both[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemSetAccess(hinted, unit, both, 2));
    int *shared = reinterpret_cast<int *>(hinted);
    for (int i = 0; i < 1000; ++i) shared[i] = 3 * i;
    add<<<4, 256>>>(shared, 1000, 1);
    CHECK_KERNEL();
    for (int i = 0; i < 1000; ++i) EXPECT(shared[i] == 4 * i + 1);

    // A kernel that exceeds the mapping faults.
    add<<<1, 1>>>(reinterpret_cast<int *>(hinted + unit), 1, 0);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    return finish();
}
