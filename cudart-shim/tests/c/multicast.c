/* Multicast objects: one address for memory of two devices, made of a handle on one and of an address on the other. Kernels of
 * both reach both with `multimem`; other instructions do not, nor do any before all is bound or after it is unbound. */
#include "cuda_api.h"

typedef struct { int type, id; } Location;
typedef struct { int type, handleTypes; Location location; void *windows; unsigned char flags[8]; } AllocationProp;
typedef struct { Location location; int flags; } AccessDesc;
typedef struct { unsigned devices; size_t size; unsigned long long handleTypes, flags; } MulticastProp;

int cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
int cuMemAddressFree(CUdeviceptr, size_t);
int cuMemCreate(uint64_t *, size_t, const AllocationProp *, unsigned long long);
int cuMemRelease(uint64_t);
int cuMemMap(CUdeviceptr, size_t, size_t, uint64_t, unsigned long long);
int cuMemUnmap(CUdeviceptr, size_t);
int cuMemSetAccess(CUdeviceptr, size_t, const AccessDesc *, size_t);
int cuMulticastCreate(uint64_t *, const MulticastProp *);
int cuMulticastAddDevice(uint64_t, int);
int cuMulticastBindMem(uint64_t, size_t, uint64_t, size_t, size_t, unsigned long long);
int cuMulticastBindAddr(uint64_t, size_t, CUdeviceptr, size_t, unsigned long long);
int cuMulticastUnbind(uint64_t, int, size_t, size_t);
int cuMulticastGetGranularity(size_t *, const MulticastProp *, int);
int cuDeviceGetAttribute(int *, int, int);

#define MULTIMEM_KERNELS                                                                                               \
    ".version 8.1\n.target sm_90\n.address_size 64\n"                                                         \
    ".visible .entry add(.param .u64 at) { .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [at];\n"              \
    " multimem.ld_reduce.relaxed.sys.global.add.u32 %r, [%a];\n"                                              \
    " multimem.st.relaxed.sys.global.u32 [%a+4], %r;\n"                                                       \
    " multimem.red.relaxed.sys.global.add.u32 [%a], 1; ret; }\n"                                              \
    ".visible .entry load(.param .u64 at) { .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [at];\n"             \
    " ld.global.u32 %r, [%a]; st.global.u32 [%a], %r; ret; }\n"

enum { MULTICAST_SUPPORTED = 132 };

static CUcontext contexts[2];

static int launch(int device, const char *name, CUdeviceptr at)
{
    CUmodule module;
    CUfunction function;
    void *arguments[] = {&at};

    OK(cuCtxSetCurrent(contexts[device]));
    OK(cuModuleLoadData(&module, MULTIMEM_KERNELS));
    OK(cuModuleGetFunction(&function, module, name));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    return cuCtxSynchronize();
}

static CUdeviceptr mapped(uint64_t handle, size_t size, const AccessDesc *access, size_t count)
{
    CUdeviceptr at;

    OK(cuMemAddressReserve(&at, size, 0, 0, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    OK(cuMemSetAccess(at, size, access, count));
    return at;
}

int main(void)
{
    AccessDesc access[2] = {{{1, 0}, 3}, {{1, 1}, 3}};
    AllocationProp of_device = {.type = 1, .location = {1, 0}};
    MulticastProp wanted = {.devices = 2};
    uint64_t object, memory[2];
    CUdeviceptr both, own[2];
    unsigned word;
    size_t size;
    int supported;

    setenv("VOLTSIM_DEVICES", "2", 1);
    setenv("VOLTSIM_DEVICE", "h100", 1);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuDeviceGetAttribute(&supported, MULTICAST_SUPPORTED, 0));
    EXPECT(supported, 1);
    OK(cuMulticastGetGranularity(&size, &wanted, 0));
    EXPECT(cuMulticastCreate(&object, &wanted), cudaErrorInvalidValue);
    wanted.size = size;
    OK(cuMulticastCreate(&object, &wanted));
    for (int device = 0; device < 2; device++) {
        of_device.location.id = device;
        OK(cuMemCreate(&memory[device], size, &of_device, 0));
        own[device] = mapped(memory[device], size, access, 2);
        OK(cuMemsetD32_v2(own[device], 10 + device, 4));
    }

    /* Nothing is bound or mapped before all devices are there. */
    OK(cuMulticastAddDevice(object, 0));
    EXPECT(cuMulticastAddDevice(object, 0), cudaErrorInvalidValue);
    EXPECT(cuMulticastBindMem(object, 0, memory[0], 0, size, 0), cudaErrorInvalidValue);
    OK(cuMulticastAddDevice(object, 1));
    OK(cuMulticastBindMem(object, 0, memory[0], 0, size, 0));
    EXPECT(cuMulticastBindMem(object, 0, memory[0], 0, size, 0), cudaErrorInvalidValue);
    EXPECT(cuMulticastBindMem(memory[0], 0, memory[0], 0, size, 0), cudaErrorInvalidValue);
    OK(cuMulticastBindAddr(object, 0, own[1], size, 0));
    both = mapped(object, size, access, 2);

    for (int device = 0; device < 2; device++)
        OK(launch(device, "add", both));
    for (int device = 0; device < 2; device++) {
        OK(cuMemcpyDtoH_v2(&word, own[device], 4));
        EXPECT(word, 12 + device);
        OK(cuMemcpyDtoH_v2(&word, own[device] + 4, 4));
        EXPECT(word, 23);
    }

    OK(cuMulticastUnbind(object, 1, 0, size));
    EXPECT(cuMulticastUnbind(object, 1, 0, size), cudaErrorInvalidValue);
    EXPECT(launch(0, "add", both), cudaErrorIllegalAddress);
    EXPECT(launch(1, "load", both), cudaErrorIllegalAddress);
    return 0;
}
