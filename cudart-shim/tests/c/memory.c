/* What is written to device memory is read back; bad ranges, kinds and addresses give CUDA's errors. */
#include "cuda_api.h"

int main(void)
{
    char *device, *other, source[256], target[256];
    size_t free_before, free_after, total, pitch;
    cudaPointerAttributes attributes;

    for (int i = 0; i < 256; ++i)
        source[i] = (char)i;
    OK(cudaMemGetInfo(&free_before, &total));
    OK(cudaMalloc((void **)&device, 256));
    EXPECT((uintptr_t)device % 256, 0);
    OK(cudaMemGetInfo(&free_after, &total));
    EXPECT(free_before - free_after >= 256, 1);
    OK(cudaMemcpy(device, source, 256, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(target, device, 256, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(source, target, 256), 0);
    OK(cudaMalloc((void **)&other, 256));
    OK(cudaMemcpy(other, device, 256, cudaMemcpyDeviceToDevice));
    OK(cudaMemset(other + 128, 0x5a, 128));
    OK(cudaMemcpy(target, other, 256, cudaMemcpyDefault));
    EXPECT(memcmp(source, target, 128), 0);
    EXPECT(target[128], 0x5a);
    EXPECT(target[255], 0x5a);

    EXPECT(cudaMemcpy(device, source, 257, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(target, source, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(device, source, 16, 77), cudaErrorInvalidMemcpyDirection);
    EXPECT(cudaMemcpy(device, NULL, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpy(device, source, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaFree(device + 16), cudaErrorInvalidValue);
    EXPECT(cudaFree(source), cudaErrorInvalidValue);
    OK(cudaFree(NULL));
    OK(cudaFree(other));
    EXPECT(cudaMemcpy(other, source, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMalloc((void **)&other, (size_t)1 << 50), cudaErrorMemoryAllocation);
    EXPECT(cudaMalloc(NULL, 16), cudaErrorInvalidValue);

    OK(cudaPointerGetAttributes(&attributes, device + 5));
    EXPECT(attributes.type, 2);
    EXPECT(attributes.devicePointer == device + 5, 1);
    OK(cudaPointerGetAttributes(&attributes, source));
    EXPECT(attributes.type, 0);

    OK(cudaMallocPitch((void **)&other, &pitch, 100, 3));
    EXPECT(pitch % 512, 0);
    OK(cudaMemset2D(other, pitch, 1, 100, 3));
    OK(cudaMemcpy2D(other + pitch, pitch, source, 50, 50, 2, cudaMemcpyHostToDevice));
    memset(target, 0, sizeof target);
    OK(cudaMemcpy2D(target, 60, other, pitch, 60, 3, cudaMemcpyDeviceToHost));
    EXPECT(target[0], 1);
    EXPECT(target[60], 0);
    EXPECT(target[61], 1);
    EXPECT(target[60 + 50], 1);
    EXPECT(target[120], 50);
    EXPECT(cudaMemcpy2D(other, 10, source, 50, 50, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);

    /* The second of two slices of a 4x3 box. */
    cudaMemcpy3DParms box = {0};
    box.srcPtr = (cudaPitchedPtr){source, 4, 4, 3};
    box.srcPos = (cudaPos){0, 0, 1};
    box.dstPtr = (cudaPitchedPtr){other, pitch, 4, 3};
    box.extent = (cudaExtent){4, 3, 1};
    box.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&box));
    OK(cudaMemcpy2D(target, 4, other, pitch, 4, 3, cudaMemcpyDeviceToHost));
    EXPECT(target[0], 12);
    EXPECT(target[11], 23);
    return 0;
}
