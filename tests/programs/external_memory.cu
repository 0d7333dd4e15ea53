//@ link: -lcuda
// Memory created outside of CUDA, imported by file descriptor; refused imports.
#include "check_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

__global__ void scale(int *data, int count, int factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] *= factor;
}

int main() {
    // A file of the system that the host has mapped too.
    const size_t size = 1 << 20;
    const int count = 1000, start = 4096 / sizeof(int);
    int file = memfd_create("outside", 0);
    EXPECT(file >= 0 && ftruncate(file, size) == 0);
    int *host = static_cast<int *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    for (int i = 0; i < count; ++i) host[start + i] = i;

    cudaExternalMemoryHandleDesc description = {};
    description.type = cudaExternalMemoryHandleTypeOpaqueFd;
    description.handle.fd = dup(file);
    description.size = size;
    cudaExternalMemory_t memory;
    CHECK(cudaImportExternalMemory(&memory, &description));
    cudaExternalMemoryBufferDesc part = {};
    part.offset = 4096;
    part.size = count * sizeof(int);
    int *data;
    CHECK(cudaExternalMemoryGetMappedBuffer((void **)&data, memory, &part));
    scale<<<(count + 255) / 256, 256>>>(data, count, 3);
    CHECK_KERNEL();
    for (int i = 0; i < count; ++i) EXPECT(host[start + i] == 3 * i);
    host[start] = 77;
    int first;
    CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
    EXPECT(first == 77);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(data, 0, part.size + 1));
    part.offset = size;
    void *refused;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer(&refused, memory, &part));
    CHECK(cudaFree(data));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(data, 0, 4));
    CHECK(cudaDestroyExternalMemory(memory));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaDestroyExternalMemory(memory));
    cudaGetLastError();

    // Memory of this API, exported and imported again.
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    size_t unit = 0;
    DRIVER(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemCreate(&handle, unit, &prop, 0));
    CUdeviceptr mapped, imported;
    DRIVER(cuMemAddressReserve(&mapped, unit, 0, 0, 0));
    DRIVER(cuMemMap(mapped, unit, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemSetAccess(mapped, unit, &access, 1));
    DRIVER(cuMemsetD32(mapped, 5, count));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC exported = {};
    exported.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    exported.size = unit;
    DRIVER(cuMemExportToShareableHandle(&exported.handle.fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUexternalMemory external;
    DRIVER(cuImportExternalMemory(&external, &exported));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = {};
    whole.size = unit;
    DRIVER(cuExternalMemoryGetMappedBuffer(&imported, external, &whole));
    scale<<<(count + 255) / 256, 256>>>(reinterpret_cast<int *>(imported), count, 4);
    CHECK_KERNEL();
    std::vector<int> got(count);
    DRIVER(cuMemcpyDtoH(got.data(), mapped, count * sizeof(int)));
    compare("exported and imported", got, std::vector<int>(count, 20));
    DRIVER(cuMemFree(imported));
    DRIVER(cuDestroyExternalMemory(external));

    // Errors. The caller keeps a descriptor whose import fails.
    description.handle.fd = file;
    description.size = size + 1;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &description));
    EXPECT(fcntl(file, F_GETFD) >= 0);
    description.size = size;
    description.handle.fd = -1;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &description));
    description.type = cudaExternalMemoryHandleTypeD3D12Heap;
    EXPECT_ERROR(cudaErrorNotSupported, cudaImportExternalMemory(&memory, &description));
    description.type = cudaExternalMemoryHandleType(99);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &description));
    cudaExternalSemaphoreHandleDesc semaphore = {};
    semaphore.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    semaphore.handle.fd = file;
    cudaExternalSemaphore_t none;
    EXPECT_ERROR(cudaErrorNotSupported, cudaImportExternalSemaphore(&none, &semaphore));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaDestroyExternalSemaphore(nullptr));
    return finish();
}
