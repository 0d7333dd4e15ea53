/* Two devices: a library is used on both, by one handle of a kernel and one function of it for each; its managed variable is
 * one piece of memory, also when one of the devices is reset; objects of textures are told apart. */
#include "cuda_api.h"

/* `count` adds 1 to the managed variable and to the device's own, which it returns. */
#define COUNTERS                                                                                              \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                                         \
    ".visible .global .attribute(.managed) .align 4 .u32 shared_by_all = 5;\n"                                \
    ".visible .global .align 4 .u32 of_device = 100;\n"                                                       \
    ".visible .entry count() { .reg .b32 %r<3>;\n"                                                            \
    " ld.global.u32 %r1, [shared_by_all]; add.u32 %r1, %r1, 1; st.global.u32 [shared_by_all], %r1;\n"         \
    " ld.global.u32 %r2, [of_device]; add.u32 %r2, %r2, 1; st.global.u32 [of_device], %r2; ret; }\n"

FAT_BINARY(registered, 70, ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".visible .global .attribute(.managed) .align 4 .u32 managed = 1;\\n"
    ".visible .entry twice() { .reg .b32 %r<2>;\\n"
    " ld.global.u32 %r1, [managed]; add.u32 %r1, %r1, %r1; st.global.u32 [managed], %r1; ret; }\\n");

enum { MAX_DYNAMIC_SHARED = 8, COOPERATIVE_MULTI_DEVICE = 96 };

static CUcontext contexts[2];

static void launch(CUfunction function) { OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); OK(cuCtxSynchronize()); }

static unsigned of_device(CUlibrary library)
{
    CUdeviceptr address;
    size_t size;
    unsigned value;

    OK(cuLibraryGetGlobal(&address, &size, library, "of_device"));
    EXPECT(size, 4);
    OK(cuMemcpyDtoH_v2(&value, address, 4));
    return value;
}

static void libraries(void)
{
    CUlibrary library, owner;
    CUkernel kernel, same;
    CUfunction functions[2];
    CUmodule modules[2];
    CUdeviceptr managed[2];
    size_t size;
    int value;

    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuLibraryLoadData(&library, COUNTERS, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "count"));
    EXPECT(cuLibraryGetKernel(&same, library, "nothing"), cudaErrorSymbolNotFound);
    EXPECT(cuLibraryGetManaged(&managed[0], &size, library, "of_device"), cudaErrorSymbolNotFound);
    for (int device = 0; device < 2; device++) {
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuLibraryGetKernel(&same, library, "count"));
        EXPECT(same == kernel, 1);
        OK(cuKernelGetFunction(&functions[device], kernel));
        OK(cuLibraryGetModule(&modules[device], library));
        OK(cuLibraryGetManaged(&managed[device], &size, library, "shared_by_all"));
        launch(functions[device]);
        launch(kernel);
        EXPECT(of_device(library), 102);
    }
    OK(cuKernelGetLibrary(&owner, kernel));
    EXPECT(owner == library, 1);
    EXPECT(functions[0] != functions[1] && modules[0] != modules[1], 1);
    EXPECT(managed[0], managed[1]);
    EXPECT(*(unsigned *)managed[0], 9);
    /* A function is of one device, and so are a kernel's settings. */
    EXPECT(cuLaunchKernel(functions[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), cudaErrorInvalidResourceHandle);
    OK(cuKernelSetAttribute(MAX_DYNAMIC_SHARED, 60000, kernel, 0));
    OK(cuKernelGetAttribute(&value, MAX_DYNAMIC_SHARED, kernel, 0));
    EXPECT(value, 60000);
    OK(cuKernelGetAttribute(&value, MAX_DYNAMIC_SHARED, kernel, 1));
    EXPECT(value, 49152);

    /* The first device loses what it had; what both have stays for the other. */
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    OK(cuCtxSetCurrent(contexts[1]));
    launch(kernel);
    EXPECT(*(unsigned *)managed[0], 10);
    OK(cuCtxSetCurrent(contexts[0]));
    launch(kernel);
    EXPECT(*(unsigned *)managed[0], 11);
    EXPECT(of_device(library), 101);

    OK(cuLibraryUnload(library));
    EXPECT(cuLibraryUnload(library), cudaErrorInvalidResourceHandle);
    EXPECT(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), cudaErrorInvalidResourceHandle);
    EXPECT(cuPointerGetAttribute(&value, 9, managed[0]), cudaErrorInvalidValue);
}

static void registered_variables(void)
{
    static char twice;
    static unsigned *managed;
    void **handle = __cudaRegisterFatBinary(&registered_wrapper);
    __cudaRegisterFunction(handle, &twice, &twice, "twice", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterManagedVar(handle, (void **)&managed, "managed", "managed", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    for (int round = 1; round <= 4; round++) {
        OK(cudaSetDevice(round % 2));
        __cudaInitModule(handle);
        OK(cudaLaunchKernel(&twice, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL));
        OK(cudaDeviceSynchronize());
        EXPECT(*managed, 1 << round);
    }
    __cudaUnregisterFatBinary(handle);
}

static void textures(void)
{
    cudaTextureObject_t objects[2];
    void *memory;

    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        OK(cudaMalloc(&memory, 512));
        cudaResourceDesc resource = {.resType = 2};
        resource.res.linear.devPtr = memory;
        resource.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, 1);
        resource.res.linear.sizeInBytes = 512;
        cudaTextureDesc texture = {0};
        OK(cudaCreateTextureObject(&objects[device], &resource, &texture, NULL));
    }
    EXPECT(objects[0] != objects[1], 1);
    EXPECT(cudaDestroyTextureObject(objects[0]), cudaErrorInvalidValue);
    OK(cudaDestroyTextureObject(objects[1]));
    OK(cudaSetDevice(0));
    OK(cudaDestroyTextureObject(objects[0]));
}

static void cooperative_launches(void)
{
    struct { void *function; unsigned sizes[7]; void *stream; void **arguments; } launches[2];
    int can;

    memset(launches, 0, sizeof launches);
    OK(cudaDeviceGetAttribute(&can, COOPERATIVE_MULTI_DEVICE, 0));
    EXPECT(can, 0);
    EXPECT(cuLaunchCooperativeKernelMultiDevice(launches, 2, 0), cudaErrorNotSupported);
}

int main(void)
{
    setenv("VOLTSIM_DEVICES", "2", 1);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    libraries();
    registered_variables();
    textures();
    cooperative_launches();
    return 0;
}
