/* A launch that writes to a surface, and one that reads a texture of the same array, one of a mipmapped array and one of
   linear memory, whose handles lie in memory. Prints the sum of what it has read. */
#include "cuda_api.h"

typedef void *CUmipmappedArray;
int cuMipmappedArrayCreate(CUmipmappedArray *, const CUDA_ARRAY3D_DESCRIPTOR *, unsigned);
int cuMipmappedArrayGetLevel(CUarray *, CUmipmappedArray, unsigned);
int cuSurfObjectCreate(uint64_t *, const CUDA_RESOURCE_DESC *);

static const char text[] =
#include "images.h"
    ;

static void fill(CUarray array, unsigned side, float first)
{
    float numbers[16];
    for (unsigned i = 0; i < side * side; i++)
        numbers[i] = first + i * i;
    CUDA_MEMCPY2D copy = {.srcMemoryType = 1, .srcHost = numbers, .srcPitch = 4 * side, .dstMemoryType = 3, .dstArray = array,
                          .WidthInBytes = 4 * side, .Height = side};
    OK(cuMemcpy2D_v2(&copy));
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction paint, sample;
    CUarray canvas, level;
    CUmipmappedArray pyramid;
    CUdeviceptr line, list, out;
    uint64_t handles[3], surface;
    float numbers[16], sum = 0;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&paint, module, "paint"));
    OK(cuModuleGetFunction(&sample, module, "sample"));
    OK(cuArray3DCreate_v2(&canvas, &(CUDA_ARRAY3D_DESCRIPTOR){4, 4, 0, 0x20, 1, 2}));
    fill(canvas, 4, 100);
    OK(cuMipmappedArrayCreate(&pyramid, &(CUDA_ARRAY3D_DESCRIPTOR){4, 4, 0, 0x20, 1, 0}, 2));
    for (unsigned i = 0; i < 2; i++) {
        OK(cuMipmappedArrayGetLevel(&level, pyramid, i));
        fill(level, 4 >> i, 10 * i);
    }
    OK(cuMemAlloc_v2(&line, sizeof numbers));
    OK(cuMemAlloc_v2(&list, sizeof handles));
    OK(cuMemAlloc_v2(&out, sizeof numbers));
    for (int i = 0; i < 16; i++)
        numbers[i] = 1000 * i;
    OK(cuMemcpyHtoD_v2(line, numbers, sizeof numbers));

    CUDA_RESOURCE_DESC of_canvas = {.resType = 0, .res.array = canvas}, of_pyramid = {.resType = 1, .res.array = pyramid},
                       of_line = {.resType = 2, .res.linear = {line, 0x20, 1, sizeof numbers}};
    CUDA_TEXTURE_DESC between = {.addressMode = {0, 1, 0}, .filterMode = 1, .flags = 2, .mipmapFilterMode = 1, .maxMipmapLevelClamp = 9},
                      plain = {.flags = 0};
    OK(cuSurfObjectCreate(&surface, &of_canvas));
    OK(cuTexObjectCreate(&handles[0], &of_canvas, &between, NULL));
    OK(cuTexObjectCreate(&handles[1], &of_pyramid, &between, NULL));
    OK(cuTexObjectCreate(&handles[2], &of_line, &plain, NULL));
    OK(cuMemcpyHtoD_v2(list, handles, sizeof handles));

    OK(cuLaunchKernel(paint, 1, 1, 1, 16, 1, 1, 0, NULL, (void *[]){&surface}, NULL));
    OK(cuLaunchKernel(sample, 1, 1, 1, 16, 1, 1, 0, NULL, (void *[]){&list, &out}, NULL));
    OK(cuMemcpyDtoH_v2(numbers, out, sizeof numbers));
    for (int i = 0; i < 16; i++)
        sum += numbers[i];
    printf("%g\n", sum);
    return 0;
}
