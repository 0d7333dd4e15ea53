/* Arrays, texture objects, texture and surface references of the driver. */
#include "cuda_api.h"

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .texref picture;\n.visible .global .surfref canvas;\n"
    ".visible .entry sample(.param .u64 out) { .reg .b64 %o; .reg .f32 %f<6>;\n"
    " ld.param.u64 %o, [out]; mov.f32 %f0, 0f3F800000;\n"
    " tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [picture, {%f0}]; st.global.f32 [%o], %f1; ret; }\n"
    ".visible .entry fetch(.param .u64 out) { .reg .b64 %o; .reg .b32 %r<6>;\n"
    " ld.param.u64 %o, [out]; mov.u32 %r0, 3;\n"
    " tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [picture, {%r0}]; st.global.u32 [%o], %r1; ret; }\n"
    ".visible .entry object(.param .u64 out, .param .u64 texture) { .reg .b64 %o, %t; .reg .b32 %r<6>;\n"
    " ld.param.u64 %o, [out]; ld.param.u64 %t, [texture]; mov.u32 %r0, 1;\n"
    " tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%t, {%r0}]; st.global.u32 [%o], %r1; ret; }\n"
    ".visible .entry store() { sust.b.1d.b32.trap [canvas, {8}], 77; ret; }\n";

static CUdeviceptr out;

static unsigned run(CUmodule module, const char *name, uint64_t object)
{
    CUfunction function;
    unsigned result;
    void *arguments[] = {&out, &object};
    OK(cuModuleGetFunction(&function, module, name));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH_v2(&result, out, sizeof result));
    return result;
}

static float number(unsigned bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUarray floats, words, found;
    CUtexref picture;
    CUsurfref canvas;
    CUDA_ARRAY_DESCRIPTOR description;
    float values[4] = {2, 4, 8, 16};
    unsigned numbers[4] = {10, 20, 30, 40}, back[4], flags;
    unsigned char bytes[4] = {0, 51, 102, 255};
    uint64_t texture;
    size_t offset;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, code));
    OK(cuMemAlloc_v2(&out, 1024));

    EXPECT(cuArrayCreate_v2(&floats, &(CUDA_ARRAY_DESCRIPTOR){4, 0, 0x20, 3}), cudaErrorInvalidValue);
    OK(cuArrayCreate_v2(&floats, &(CUDA_ARRAY_DESCRIPTOR){4, 0, 0x20, 1}));
    OK(cuArray3DCreate_v2(&words, &(CUDA_ARRAY3D_DESCRIPTOR){4, 0, 0, 0x03, 1, 2}));
    OK(cuArrayGetDescriptor_v2(&description, words));
    EXPECT(description.Width == 4 && description.Height == 0 && description.Format == 3 && description.NumChannels == 1, 1);
    OK(cuMemcpyHtoA_v2(floats, 0, values, sizeof values));
    OK(cuMemcpyHtoA_v2(words, 4, numbers + 1, 12));
    OK(cuMemcpyHtoD_v2(out, numbers, 4));
    OK(cuMemcpyDtoA_v2(words, 0, out, 4));
    OK(cuMemcpyAtoA_v2(words, 8, words, 4, 4));
    OK(cuMemcpyAtoH_v2(back, words, 0, sizeof back));
    EXPECT(back[0] == 10 && back[1] == 20 && back[2] == 20 && back[3] == 40, 1);
    OK(cuMemcpyAtoD_v2(out, words, 12, 4));
    OK(cuMemcpyDtoH_v2(back, out, 4));
    EXPECT(back[0], 40);
    CUDA_MEMCPY2D box = {.srcMemoryType = 1, .srcHost = numbers, .srcPitch = 16, .dstMemoryType = 3, .dstArray = words,
                         .dstXInBytes = 8, .WidthInBytes = 8, .Height = 1};
    OK(cuMemcpy2D_v2(&box));
    OK(cuMemcpyAtoH_v2(back, words, 0, sizeof back));
    EXPECT(back[2] == 10 && back[3] == 20, 1);
    EXPECT(cuMemcpyHtoA_v2(words, 8, numbers, 12), cudaErrorInvalidValue);

    /* A reference: to an array, then to bytes, read as numbers and as integers. */
    EXPECT(cuModuleGetTexRef(&picture, module, "canvas"), cudaErrorSymbolNotFound);
    OK(cuModuleGetTexRef(&picture, module, "picture"));
    OK(cuTexRefSetArray(picture, floats, 1));
    OK(cuTexRefGetArray(&found, picture));
    EXPECT(found == floats, 1);
    EXPECT(number(run(module, "sample", 0)) == 4, 1);
    OK(cuTexRefSetFilterMode(picture, 1));
    OK(cuTexRefSetAddressMode(picture, 0, 1));
    EXPECT(cuTexRefSetAddressMode(picture, 3, 1), cudaErrorInvalidValue);
    EXPECT(number(run(module, "sample", 0)) == 3, 1);
    OK(cuTexRefSetFilterMode(picture, 0));
    OK(cuMemcpyHtoD_v2(out + 512, bytes, sizeof bytes));
    OK(cuTexRefSetFormat(picture, 0x01, 1));
    OK(cuTexRefSetAddress_v2(&offset, picture, out + 512, sizeof bytes));
    EXPECT(offset, 0);
    EXPECT(number(run(module, "fetch", 0)) == 1, 1);
    OK(cuTexRefSetFlags(picture, 1));
    OK(cuTexRefGetFlags(&flags, picture));
    EXPECT(flags, 1);
    EXPECT(run(module, "fetch", 0), 255);

    OK(cuModuleGetSurfRef(&canvas, module, "canvas"));
    EXPECT(cuSurfRefSetArray(canvas, floats, 0), cudaErrorInvalidValue);
    OK(cuSurfRefSetArray(canvas, words, 0));
    run(module, "store", 0);
    OK(cuMemcpyAtoH_v2(back, words, 0, sizeof back));
    EXPECT(back[2], 77);

    CUDA_RESOURCE_DESC resource = {0};
    CUDA_TEXTURE_DESC how = {.flags = 1, .addressMode = {1, 1, 1}}, told;
    resource.res.array = words;
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    EXPECT(run(module, "object", texture), 20);
    OK(cuTexObjectGetTextureDesc(&told, texture));
    EXPECT(memcmp(&told, &how, sizeof how), 0);
    OK(cuTexObjectDestroy(texture));
    OK(cuArrayDestroy(words));
    EXPECT(cuArrayDestroy(words), cudaErrorInvalidResourceHandle);
    return 0;
}
