/* Texture and surface references of CUDA 11's runtime, as its compiler registers them. */
#include "cuda_api.h"

typedef struct {
    int normalized, filterMode, addressMode[3];
    cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, reserved[14];
} textureReference;
typedef struct { cudaChannelFormatDesc channelDesc; } surfaceReference;
int cudaBindTexture(size_t *, const textureReference *, const void *, const cudaChannelFormatDesc *, size_t);
int cudaBindTexture2D(size_t *, const textureReference *, const void *, const cudaChannelFormatDesc *, size_t, size_t, size_t);
int cudaBindTextureToArray(const textureReference *, cudaArray_t, const cudaChannelFormatDesc *);
int cudaUnbindTexture(const textureReference *);
int cudaGetTextureReference(const textureReference **, const void *);
int cudaGetTextureAlignmentOffset(size_t *, const textureReference *);
int cudaBindSurfaceToArray(const surfaceReference *, cudaArray_t, const cudaChannelFormatDesc *);

FAT_BINARY(kernels, 70,
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".global .texref picture;\\n.global .texref bytes;\\n.global .surfref canvas;\\n"
    ".visible .entry sample(.param .f32 x, .param .u64 out) {\\n"
    " .reg .b64 %o; .reg .f32 %f<8>;\\n"
    " ld.param.u64 %o, [out]; ld.param.f32 %f0, [x];\\n"
    " tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [picture, {%f0, %f0}]; st.global.f32 [%o], %f2; ret; }\\n"
    ".visible .entry fetch(.param .s32 i, .param .u64 out) {\\n"
    " .reg .b64 %o, %t; .reg .b32 %i; .reg .f32 %f<4>;\\n"
    " mov.u64 %t, bytes; ld.param.u64 %o, [out]; ld.param.s32 %i, [i];\\n"
    " tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%i}]; st.global.f32 [%o], %f0; ret; }\\n"
    ".visible .entry store(.param .u32 value) {\\n"
    " .reg .b32 %v; ld.param.u32 %v, [value]; sust.b.2d.b32.trap [canvas, {4, 1}], {%v}; ret; }\\n");

static char sample, fetch, store;
static textureReference picture = {.filterMode = 1, .addressMode = {1, 1, 1}};
static textureReference bytes = {.addressMode = {1, 1, 1}};
static surfaceReference canvas;

static float run(const char *kernel, void *argument, float *device)
{
    float result;
    void *arguments[] = {argument, &device};
    OK(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, NULL));
    OK(cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost));
    return result;
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, &sample, "sample", "sample", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &fetch, "fetch", "fetch", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &store, "store", "store", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterTexture(handle, &picture, NULL, "picture", 2, 0, 0);
    __cudaRegisterTexture(handle, &bytes, NULL, "bytes", 1, 1, 0);
    __cudaRegisterSurface(handle, &canvas, NULL, "canvas", 2, 0);
    __cudaRegisterFatBinaryEnd(handle);

    float host[4] = {0, 1, 2, 3}, middle = 1, *device;
    unsigned char raw[1024];
    cudaChannelFormatDesc number = cudaCreateChannelDesc(32, 0, 0, 0, 2), byte = cudaCreateChannelDesc(8, 0, 0, 0, 1);
    cudaArray_t array;
    const textureReference *found;
    size_t offset;
    for (int i = 0; i < 1024; i++) raw[i] = i;
    OK(cudaMalloc((void **)&device, 4096));
    OK(cudaMallocArray(&array, &number, 2, 2, 2));
    OK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));

    OK(cudaGetTextureReference(&found, &picture));
    EXPECT(found == &picture, 1);
    EXPECT(cudaGetTextureReference(&found, &canvas), cudaErrorInvalidTexture);
    EXPECT(cudaGetTextureAlignmentOffset(&offset, &picture), cudaErrorInvalidTextureBinding);

    /* An array, filtered as the structure says; then rows of linear memory. */
    OK(cudaBindTextureToArray(&picture, array, &number));
    EXPECT(run(&sample, &middle, device) == 1.5f, 1);
    OK(cudaMemcpy2D(device + 256, 32, host, 8, 8, 2, cudaMemcpyHostToDevice));
    host[0] = 4;
    OK(cudaMemcpy(device + 256, host, 4, cudaMemcpyHostToDevice));
    OK(cudaBindTexture2D(NULL, &picture, device + 256, &number, 2, 2, 32));
    EXPECT(run(&sample, &middle, device) == 2.5f, 1);

    /* Bytes read as numbers, from an address that is not aligned. */
    int index = 20;
    OK(cudaMemcpy((char *)device + 1024, raw, 1024, cudaMemcpyHostToDevice));
    EXPECT(cudaBindTexture(NULL, &bytes, (char *)device + 1028, &byte, 512), cudaErrorInvalidValue);
    OK(cudaBindTexture(&offset, &bytes, (char *)device + 1028, &byte, ~0u));
    EXPECT(offset, 4);
    OK(cudaGetTextureAlignmentOffset(&offset, &bytes));
    EXPECT(offset, 4);
    EXPECT(run(&fetch, &index, device) == 20 / 255.0f, 1);
    index = 1 << 20;
    EXPECT(run(&fetch, &index, device) == 0, 1);

    OK(cudaBindSurfaceToArray(&canvas, array, &number));
    float value = 7;
    run(&store, &value, device);
    OK(cudaMemcpyFromArray(host, array, 0, 0, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[2] == 2 && host[3] == 7, 1);
    EXPECT(cudaBindSurfaceToArray((surfaceReference *)&picture, array, &number), cudaErrorInvalidSurface);

    OK(cudaUnbindTexture(&bytes));
    void *arguments[] = {&index, &device};
    OK(cudaLaunchKernel(&fetch, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, NULL));
    EXPECT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    return 0;
}
