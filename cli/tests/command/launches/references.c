/* A launch that reads an array and linear memory by texture references, and stores what it has read by a surface reference; the second time other
   memory is bound. Prints the sum of what it has stored. */
#include "cuda_api.h"

typedef void *CUtexref;
typedef void *CUsurfref;
int cuModuleGetTexRef(CUtexref *, CUmodule, const char *);
int cuModuleGetSurfRef(CUsurfref *, CUmodule, const char *);
int cuTexRefSetArray(CUtexref, CUarray, unsigned);
int cuTexRefSetAddress_v2(size_t *, CUtexref, CUdeviceptr, size_t);
int cuTexRefSetFormat(CUtexref, int, int);
int cuTexRefSetFlags(CUtexref, unsigned);
int cuTexRefSetFilterMode(CUtexref, int);
int cuSurfRefSetArray(CUsurfref, CUarray, unsigned);

static const char text[] =
#include "kernels.h"
    ;

int main(void)
{
    enum { LINEAR = 1, NORMALIZED = 2, FLOAT = 0x20 };
    CUcontext context;
    CUmodule module;
    CUfunction sample;
    CUtexref picture, line;
    CUsurfref canvas;
    CUarray array, stored;
    CUdeviceptr memory[2];
    float numbers[16], sum = 0;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&sample, module, "sample"));
    OK(cuModuleGetTexRef(&picture, module, "picture"));
    OK(cuModuleGetTexRef(&line, module, "line"));
    OK(cuModuleGetSurfRef(&canvas, module, "canvas"));
    OK(cuArray3DCreate_v2(&array, &(CUDA_ARRAY3D_DESCRIPTOR){4, 4, 0, FLOAT, 1, 0}));
    OK(cuArray3DCreate_v2(&stored, &(CUDA_ARRAY3D_DESCRIPTOR){4, 4, 0, FLOAT, 1, 2}));
    for (int i = 0; i < 16; i++)
        numbers[i] = i * i;
    CUDA_MEMCPY2D in = {.srcMemoryType = 1, .srcHost = numbers, .srcPitch = 16, .dstMemoryType = 3, .dstArray = array,
                        .WidthInBytes = 16, .Height = 4};
    OK(cuMemcpy2D_v2(&in));
    OK(cuTexRefSetArray(picture, array, 1));
    OK(cuTexRefSetFlags(picture, NORMALIZED));
    OK(cuTexRefSetFilterMode(picture, LINEAR));
    OK(cuTexRefSetFormat(line, FLOAT, 1));
    OK(cuSurfRefSetArray(canvas, stored, 0));
    for (int turn = 0; turn < 2; turn++) {
        OK(cuMemAlloc_v2(&memory[turn], sizeof numbers));
        for (int i = 0; i < 16; i++)
            numbers[i] = 1000 * (turn + 1) * i;
        OK(cuMemcpyHtoD_v2(memory[turn], numbers, sizeof numbers));
        OK(cuTexRefSetAddress_v2(NULL, line, memory[turn], sizeof numbers));
        OK(cuLaunchKernel(sample, 1, 1, 1, 16, 1, 1, 0, NULL, NULL, NULL));
    }
    CUDA_MEMCPY2D out = {.srcMemoryType = 3, .srcArray = stored, .dstMemoryType = 1, .dstHost = numbers, .dstPitch = 16,
                         .WidthInBytes = 16, .Height = 4};
    OK(cuMemcpy2D_v2(&out));
    for (int i = 0; i < 16; i++)
        sum += numbers[i];
    printf("%g\n", sum);
    return 0;
}
