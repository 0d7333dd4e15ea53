/* Pinned, registered and managed memory have the same address on both sides. */
#define _GNU_SOURCE
#include "cuda_api.h"
#include <sys/mman.h>

enum { REGISTER_IO = 4, REGISTER_READ_ONLY = 8 };

/* Only memory that is mapped and that the program may write can be registered. */
static void registration(void)
{
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *device;

    OK(cudaMalloc(&device, 4096));
    EXPECT(cudaHostRegister((void *)0x123450000, 4096, 0), cudaErrorInvalidValue);
    EXPECT(cudaHostRegister((char *)device + (1 << 20), 4096, 0), cudaErrorInvalidValue);
    mprotect(pages + 4096, 4096, PROT_READ);
    munmap(pages + 3 * 4096, 4096);
    EXPECT(cudaHostRegister(pages, 4097, 0), cudaErrorInvalidValue);
    EXPECT(cudaHostRegister(pages + 4096, 16, 0), cudaErrorInvalidValue);
    EXPECT(cudaHostRegister(pages + 4096, 16, REGISTER_READ_ONLY), cudaErrorNotSupported);
    EXPECT(cudaHostRegister(pages, 4096, REGISTER_READ_ONLY), cudaErrorNotSupported);
    EXPECT(cudaHostRegister(pages, 4096, 16), cudaErrorInvalidValue);
    EXPECT(cudaHostRegister(pages + 2 * 4096, 4097, REGISTER_IO), cudaErrorInvalidValue);
    OK(cudaHostRegister(pages + 2 * 4096, 4096, REGISTER_IO));
    OK(cudaHostRegister(pages, 4096, 0));
    OK(cudaHostUnregister(pages + 2 * 4096));
    OK(cudaHostUnregister(pages));
    munmap(pages, 3 * 4096);
    OK(cudaFree(device));
}

int main(void)
{
    int *pinned, *managed, *device;
    static int registered[64];
    void *mapped;
    cudaPointerAttributes attributes;

    OK(cudaMallocHost((void **)&pinned, 64 * sizeof(int)));
    OK(cudaMallocManaged((void **)&managed, 64 * sizeof(int), 1));
    OK(cudaMalloc((void **)&device, 64 * sizeof(int)));
    for (int i = 0; i < 64; ++i)
        pinned[i] = i;
    OK(cudaMemcpy(device, pinned, 64 * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(managed, device, 64 * sizeof(int), cudaMemcpyDeviceToDevice));
    OK(cudaDeviceSynchronize());
    EXPECT(managed[63], 63);
    OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
    EXPECT(mapped == pinned, 1);
    OK(cudaPointerGetAttributes(&attributes, managed));
    EXPECT(attributes.type, 3);

    OK(cudaHostRegister(registered, sizeof registered, 0));
    EXPECT(cudaHostRegister(registered, sizeof registered, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaPointerGetAttributes(&attributes, registered + 3));
    EXPECT(attributes.type, 1);
    EXPECT(cudaHostUnregister(registered + 4), cudaErrorInvalidValue);
    OK(cudaHostUnregister(registered));
    EXPECT(cudaHostUnregister(registered), cudaErrorHostMemoryNotRegistered);

    EXPECT(cudaFree(pinned), cudaErrorInvalidValue);
    EXPECT(cudaFreeHost(device), cudaErrorInvalidValue);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    EXPECT(cudaMallocManaged((void **)&managed, 0, 1), cudaErrorInvalidValue);

    /* A fill that names no stream is over when it returns, if the host can see the memory. */
    char *filled;
    size_t size = 64 << 20;
    OK(cudaMallocHost((void **)&filled, size));
    memset(filled, 0, size);
    OK(cudaMemset(filled, 7, size));
    EXPECT(filled[size - 1], 7);
    OK(cudaFreeHost(filled));
    registration();
    return 0;
}
