/* Pinned, registered and managed memory have the same address on both sides. */
#include "cuda_api.h"

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
    return 0;
}
