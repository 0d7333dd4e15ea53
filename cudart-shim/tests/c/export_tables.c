/* The tables that libraries ask the driver for. CUDA 10.2's runtime: contexts, values in contexts, modules read at first use;
 * cuBLAS of CUDA 12: numbers of contexts and streams. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);
FAT_BINARY(broken, 70, ".version 7.0\\n.target sm_70\\n.address_size 64\\n.visible .entry half(");

static const unsigned char runtime_id[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                             0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
static const unsigned char hooks_id[16] = {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74,
                                           0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66};
static const unsigned char storage_id[16] = {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11,
                                             0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93};
static const unsigned char thread_id[16] = {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47,
                                            0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc};
static const unsigned char numbers_id[16] = {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                             0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2};
static const unsigned char unknown_id[16] = {1, 2, 3};

typedef int (*primary_context)(CUcontext *, int);
typedef int (*module_of_fat_binary)(CUmodule *, const void *, void *, void *, size_t);
typedef int (*room)(const void **, size_t *);
typedef void (*destructor)(CUcontext, void *, void *);
typedef int (*put)(CUcontext, void *, void *, destructor);
typedef int (*delete)(CUcontext, void *);
typedef int (*get)(void **, CUcontext, void *);

typedef int (*current_context)(CUcontext *);
typedef int (*number_of_context)(CUcontext, unsigned long long *);
typedef int (*number_of_stream)(CUcontext, cudaStream_t, unsigned long long *);
typedef int (*stream_of_context)(CUcontext, cudaStream_t, cudaStream_t *, int);

extern int cuCtxGetDevice(int *);

static int destroyed;

static void value_goes(CUcontext context, void *key, void *value)
{
    (void)context;
    EXPECT(*(int *)key, 1);
    EXPECT(*(int *)value, 2);
    ++destroyed;
}

/* With a context current: its number and those of its streams are CUDA's. */
static void numbers_of_contexts_and_streams(CUcontext context)
{
    void *const *thread, *const *numbers;
    CUcontext current;
    cudaStream_t stream, legacy, own, same;
    unsigned long long number, expected;

    OK(cuGetExportTable((const void **)&thread, thread_id));
    OK(cuGetExportTable((const void **)&numbers, numbers_id));
    OK(((current_context)thread[2])(&current));
    EXPECT(current == context, 1);
    OK(cuCtxGetId(context, &expected));
    OK(((number_of_context)numbers[4])(context, &number));
    EXPECT(number, expected);

    OK(cudaStreamCreate(&stream));
    OK(((stream_of_context)numbers[51])(context, stream, &same, 0));
    EXPECT(same == stream, 1);
    OK(cuStreamGetId(stream, &expected));
    OK(((number_of_stream)numbers[39])(context, same, &number));
    EXPECT(number, expected);
    OK(((stream_of_context)numbers[51])(context, NULL, &legacy, 0));
    OK(((stream_of_context)numbers[51])(context, NULL, &own, 1));
    OK(((number_of_stream)numbers[39])(context, legacy, &expected));
    OK(((number_of_stream)numbers[39])(context, own, &number));
    EXPECT(number == expected, 0);
    OK(cudaStreamDestroy(stream));
    EXPECT(((number_of_stream)numbers[39])(context, stream, &number), cudaErrorInvalidResourceHandle);
}

int main(void)
{
    const void *table;
    void *const *runtime, *const *hooks, *const *storage;
    CUcontext context, retained, created;
    CUmodule module, other;
    CUfunction function, missing, half;
    CUdeviceptr variable, numbers;
    const void *space;
    void *found;
    size_t size;
    int key = 1, value = 2, device = -1, is_active = -1;
    unsigned flags;
    unsigned data[4] = {0, 1, 2, 3}, count = 4;

    OK(cuInit(0));
    table = &key;
    EXPECT(cuGetExportTable(&table, unknown_id), cudaErrorInvalidValue);
    EXPECT(table == NULL, 1);
    EXPECT(cuGetExportTable(NULL, runtime_id), cudaErrorInvalidValue);
    OK(cuGetExportTable((const void **)&runtime, runtime_id));
    OK(cuGetExportTable((const void **)&hooks, hooks_id));
    OK(cuGetExportTable((const void **)&storage, storage_id));

    /* The runtime retains the context by making it current, and not by asking for it. */
    OK(((primary_context)runtime[2])(&context, 0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
    EXPECT(is_active, 0);
    OK(cuCtxSetCurrent(context));
    OK(cuCtxGetDevice(&device));
    EXPECT(device, 0);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
    EXPECT(is_active, 1);
    OK(cuDevicePrimaryCtxRetain(&retained, 0));
    EXPECT(context == retained, 1);
    EXPECT(((primary_context)runtime[2])(&context, 77), cudaErrorInvalidDevice);
    OK(((room)hooks[2])(&space, &size));
    EXPECT(space != NULL && size > 0, 1);

    /* A value belongs to one context, the current one if none is named, and goes with it. */
    OK(cuCtxSetCurrent(retained));
    OK(((put)storage[0])(NULL, &key, &value, NULL));
    OK(((get)storage[2])(&found, retained, &key));
    EXPECT(found == &value, 1);
    OK(cuCtxCreate_v2(&created, 0, 0));
    EXPECT(((get)storage[2])(&found, NULL, &key), cudaErrorInvalidValue);
    OK(((put)storage[0])(created, &key, &value, value_goes));
    OK(cuCtxDestroy_v2(created));
    EXPECT(destroyed, 1);
    OK(((delete)storage[1])(retained, &key));
    EXPECT(((delete)storage[1])(retained, &key), cudaErrorInvalidValue);

    OK(cuCtxSetCurrent(retained));
    numbers_of_contexts_and_streams(retained);

    /* Modules are read when something of theirs is used: until then there is any kernel. */
    EXPECT(((module_of_fat_binary)runtime[6])(&module, NULL, NULL, NULL, 0), cudaErrorInvalidValue);
    OK(((module_of_fat_binary)runtime[6])(&module, &kernels_wrapper, NULL, NULL, 0));
    OK(((module_of_fat_binary)runtime[6])(&other, &broken_wrapper, NULL, NULL, 0));
    OK(cuModuleGetFunction(&function, module, "add_one"));
    OK(cuModuleGetFunction(&missing, module, "nothing"));
    OK(cuModuleGetFunction(&half, other, "half"));
    OK(cuMemAlloc_v2(&numbers, sizeof data));
    OK(cuMemcpyHtoD_v2(numbers, data, sizeof data));
    void *arguments[] = {&numbers, &count};
    OK(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH_v2(data, numbers, sizeof data));
    EXPECT(data[3], 4);
    EXPECT(cuLaunchKernel(missing, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL), cudaErrorInvalidResourceHandle);
    EXPECT(cuLaunchKernel(half, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL), cudaErrorInvalidPtx);
    EXPECT(cuModuleGetFunction(&missing, module, "nothing"), cudaErrorSymbolNotFound);
    OK(cuModuleGetGlobal_v2(&variable, &size, module, "answer"));
    EXPECT(size, 4);
    EXPECT(cuModuleGetGlobal_v2(&variable, &size, other, "answer"), cudaErrorInvalidPtx);
    OK(cuModuleUnload(module));
    OK(cuModuleUnload(other));
    EXPECT(cuModuleUnload(other), cudaErrorInvalidResourceHandle);
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL), cudaErrorInvalidResourceHandle);
    return 0;
}
