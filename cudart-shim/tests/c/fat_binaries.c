/* Fat binaries that are cut off, lie at odd addresses or say what is not so: an error of the launch, and no more. */
#include "cuda_api.h"
#include <sys/mman.h>
#include <unistd.h>

/* Offsets of fields (bytes): of the container's header, then of the entry that follows it. */
enum { VERSION = 4, HEADER_SIZE = 6, SIZE = 8, ENTRY = 16 };
enum { ENTRY_HEADER_SIZE = ENTRY + 4, PAYLOAD_SIZE = ENTRY + 8, FLAGS = ENTRY + 40 };

FAT_BINARY(kernels, 70, KERNELS);

static void store(void) {}

/* The error of the first launch from a container. */
static int error_of(const void *container)
{
    struct { unsigned magic, version; const void *data, *more; } wrapper = {0x466243b1, 1, container, NULL};
    void **handle = __cudaRegisterFatBinary(&wrapper);
    dim3 one = {1, 1, 1};
    unsigned value = 1;
    void *arguments[] = {&value};

    __cudaRegisterFunction(handle, (char *)store, "store", "store", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    int error = cudaLaunchKernel(store, one, one, arguments, 0, NULL);
    EXPECT(cudaGetLastError(), error);
    OK(cudaDeviceSynchronize());
    __cudaUnregisterFatBinary(handle);
    return error;
}

static size_t size;
static char *copy;

/* The same with one field overwritten. */
static int error_with(size_t field, uint64_t value, size_t bytes)
{
    memcpy(copy, kernels, size);
    memcpy(copy + field, &value, bytes);
    return error_of(copy);
}

/* The error of a container that continues where no memory is. */
static int error_when_cut(size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (length + page - 1) / page * page;
    char *start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(munmap(start + whole, page));
    memcpy(start + whole - length, kernels, length);
    int error = error_of(start + whole - length);
    munmap(start, whole);
    return error;
}

int main(void)
{
    uint64_t body;
    memcpy(&body, kernels + SIZE, 8);
    size = ENTRY + body;
    copy = malloc(size + 8);

    for (size_t offset = 0; offset < 8; ++offset) {
        memcpy(copy + offset, kernels, size);
        OK(error_of(copy + offset));
    }
    for (size_t length = 1; length < size; length += length < 100 ? 1 : 97)
        EXPECT(error_when_cut(length), cudaErrorInvalidKernelImage);
    OK(error_when_cut(size));

    EXPECT(error_with(0, 0x12345678, 4), cudaErrorInvalidKernelImage);
    EXPECT(error_with(VERSION, 99, 2), cudaErrorInvalidKernelImage);
    EXPECT(error_with(HEADER_SIZE, 0, 2), cudaErrorInvalidKernelImage);
    EXPECT(error_with(HEADER_SIZE, 0xffff, 2), cudaErrorInvalidKernelImage);
    EXPECT(error_with(SIZE, UINT64_MAX, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(SIZE, 1ull << 31, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(SIZE, 10, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(ENTRY_HEADER_SIZE, 1, 4), cudaErrorInvalidKernelImage);
    EXPECT(error_with(ENTRY_HEADER_SIZE, 0x7fffffff, 4), cudaErrorInvalidKernelImage);
    EXPECT(error_with(PAYLOAD_SIZE, size, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(PAYLOAD_SIZE, UINT64_MAX, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(FLAGS, 0x2011, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(FLAGS, 0x8011, 8), cudaErrorInvalidKernelImage);
    EXPECT(error_with(SIZE, 0, 8), cudaErrorInvalidDeviceFunction);

    EXPECT(error_of((const void *)8), cudaErrorInvalidKernelImage);
    OK(error_of(kernels));
    return 0;
}
