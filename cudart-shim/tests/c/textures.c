/* Arrays, texture objects and surface objects of the runtime: copies, descriptions, errors, and what a kernel reads. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70,
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".visible .entry sample(.param .u64 texture, .param .u64 out) {\\n"
    " .reg .b64 %t, %o; .reg .b32 %i, %x, %y; .reg .f32 %f<8>;\\n"
    " ld.param.u64 %t, [texture]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x; mad.wide.u32 %o, %i, 4, %o;\\n"
    " and.b32 %x, %i, 3; shr.u32 %y, %i, 2; cvt.rn.f32.u32 %f0, %x; cvt.rn.f32.u32 %f1, %y;\\n"
    " tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%t, {%f0, %f1}]; st.global.f32 [%o], %f2; ret; }\\n"
    ".visible .entry fetch(.param .u64 texture, .param .u64 out) {\\n"
    " .reg .b64 %t, %o; .reg .b32 %i; .reg .f32 %f<4>;\\n"
    " ld.param.u64 %t, [texture]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x; mad.wide.u32 %o, %i, 4, %o;\\n"
    " tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%i}]; st.global.f32 [%o], %f0; ret; }\\n"
    ".visible .entry store(.param .u64 surface) {\\n"
    " .reg .b64 %s; .reg .b32 %i, %x, %y; .reg .f32 %f;\\n"
    " ld.param.u64 %s, [surface]; mov.u32 %i, %tid.x; and.b32 %x, %i, 3; shr.u32 %y, %i, 2; shl.b32 %x, %x, 2;\\n"
    " cvt.rn.f32.u32 %f, %i; sust.b.2d.b32.trap [%s, {%x, %y}], {%f}; ret; }\\n");

static char sample, fetch, store;
static float out[16];

static void run(const char *kernel, uint64_t object, float *device)
{
    void *arguments[] = {&object, &device};
    OK(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){16, 1, 1}, arguments, 0, NULL));
    OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, &sample, "sample", "sample", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &fetch, "fetch", "fetch", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &store, "store", "store", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);

    float host[16], back[16], *device;
    cudaArray_t array, other, level;
    cudaMipmappedArray_t mipmapped;
    cudaChannelFormatDesc one = cudaCreateChannelDesc(32, 0, 0, 0, 2), found;
    cudaExtent extent;
    unsigned flags;
    for (int i = 0; i < 16; i++) host[i] = i;
    OK(cudaMalloc((void **)&device, sizeof host));

    /* Arrays, and what is no array. */
    cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, 1);
    EXPECT(cudaMallocArray(&array, &three, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
    EXPECT(cudaMallocArray(&array, &one, 0, 4, 0), cudaErrorInvalidValue);
    EXPECT(cudaMallocArray(&array, &one, 1 << 20, 4, 0), cudaErrorInvalidValue);
    EXPECT(cudaMalloc3DArray(&array, &one, (cudaExtent){4, 5, 6}, 4), cudaErrorInvalidValue);
    OK(cudaMallocArray(&array, &one, 4, 4, 2));
    OK(cudaArrayGetInfo(&found, &extent, &flags, array));
    EXPECT(found.x == 32 && found.y == 0 && found.f == 2, 1);
    EXPECT(extent.width == 4 && extent.height == 4 && extent.depth == 0 && flags == 2, 1);

    /* Copies: by rows, by stretches over several rows, between arrays, in three dimensions. */
    OK(cudaMemcpy2DToArray(array, 0, 0, host, 16, 16, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(back, array, 4, 1, 36, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 5 && back[3] == 8 && back[8] == 13, 1);
    OK(cudaMallocArray(&other, &one, 4, 4, 0));
    OK(cudaMemcpyToArray(other, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(other, 8, 2, array, 4, 1, 8, 2, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArray(back, 16, other, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    EXPECT(back[9] == 9 && back[10] == 5 && back[11] == 6 && back[14] == 9, 1);
    EXPECT(cudaMemcpy2DToArray(array, 4, 0, host, 16, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2DToArray(array, 0, 0, host, 8, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT(cudaMemcpyToArray(array, 0, 0, host, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    EXPECT(cudaMemcpyToArray(device, 0, 0, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidResourceHandle);
    cudaMemcpy3DParms slices = {.srcArray = array, .srcPos = {1, 1, 0}, .dstPtr = {back, 8, 8, 2},
                                .extent = {2, 2, 1}, .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&slices));
    EXPECT(back[0] == 5 && back[1] == 6 && back[2] == 9 && back[3] == 10, 1);

    /* A texture: point, then linear filtering; its descriptions; errors. */
    cudaTextureObject_t texture;
    cudaResourceDesc resource = {0}, same;
    cudaTextureDesc how = {.addressMode = {1, 1, 1}}, told;
    resource.res.array = array;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    run(&sample, texture, device);
    for (int i = 0; i < 16; i++) EXPECT(out[i], i);
    OK(cudaDestroyTextureObject(texture));
    EXPECT(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
    how.filterMode = 1;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    run(&sample, texture, device);
    EXPECT(out[5] == 2.5f && out[10] == 7.5f, 1);
    OK(cudaGetTextureObjectResourceDesc(&same, texture));
    EXPECT(same.resType == 0 && same.res.array == array, 1);
    OK(cudaGetTextureObjectTextureDesc(&told, texture));
    EXPECT(memcmp(&told, &how, sizeof how), 0);
    OK(cudaDestroyTextureObject(texture));
    cudaChannelFormatDesc integers = cudaCreateChannelDesc(32, 0, 0, 0, 1);
    OK(cudaFreeArray(other));
    EXPECT(cudaFreeArray(other), cudaErrorInvalidValue);
    OK(cudaMallocArray(&other, &integers, 4, 4, 0));
    resource.res.array = other;
    EXPECT(cudaCreateTextureObject(&texture, &resource, &how, NULL), cudaErrorInvalidFilterSetting);
    how.filterMode = 0;
    how.readMode = 1;
    EXPECT(cudaCreateTextureObject(&texture, &resource, &how, NULL), cudaErrorInvalidNormSetting);
    resource.res.array = device;
    EXPECT(cudaCreateTextureObject(&texture, &resource, &how, NULL), cudaErrorInvalidResourceHandle);

    /* Linear memory: beyond its end is 0. */
    memset(&how, 0, sizeof how);
    resource.resType = 2;
    resource.res.linear.devPtr = device;
    resource.res.linear.desc = one;
    resource.res.linear.sizeInBytes = 10 * sizeof(float);
    float *result;
    OK(cudaMalloc((void **)&result, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    run(&fetch, texture, result);
    EXPECT(out[9] == 9 && out[10] == 0, 1);
    OK(cudaDestroyTextureObject(texture));
    resource.res.linear.devPtr = device + 1;
    EXPECT(cudaCreateTextureObject(&texture, &resource, &how, NULL), cudaErrorInvalidValue);

    /* A surface writes what the array then has. */
    cudaSurfaceObject_t surface;
    resource.resType = 0;
    resource.res.array = other;
    EXPECT(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidValue);
    resource.res.array = array;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    OK(cudaMemcpyToArray(array, 0, 0, back, 16, cudaMemcpyHostToDevice));
    run(&store, surface, result);
    OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(back, host, sizeof host), 0);
    OK(cudaGetSurfaceObjectResourceDesc(&same, surface));
    EXPECT(same.res.array == array, 1);
    OK(cudaDestroySurfaceObject(surface));

    /* Levels are arrays of their own, as long as their mipmapped array lives. */
    OK(cudaMallocMipmappedArray(&mipmapped, &one, (cudaExtent){8, 4, 0}, 9, 0));
    OK(cudaGetMipmappedArrayLevel(&level, mipmapped, 3));
    OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
    EXPECT(extent.width == 1 && extent.height == 1 && extent.depth == 0, 1);
    EXPECT(cudaGetMipmappedArrayLevel(&level, mipmapped, 4), cudaErrorInvalidValue);
    EXPECT(cudaFreeArray(level), cudaErrorInvalidValue);
    OK(cudaFreeMipmappedArray(mipmapped));
    EXPECT(cudaGetChannelDesc(&found, level), cudaErrorInvalidResourceHandle);

    /* A texture that is gone is a fault of the kernel. */
    uint64_t arguments[] = {texture, (uint64_t)result};
    void *pointers[] = {&arguments[0], &arguments[1]};
    OK(cudaLaunchKernel(&fetch, (dim3){1, 1, 1}, (dim3){1, 1, 1}, pointers, 0, NULL));
    EXPECT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    OK(cudaDeviceReset());
    EXPECT(cudaFreeArray(array), cudaErrorInvalidValue);
    return 0;
}
