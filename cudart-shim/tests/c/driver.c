/* The driver API: initialisation, contexts, modules from PTX text, launches by pointers and by buffer, linking. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
    ".visible .entry call_twice(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<3>;\n"
    " ld.param.u64 %d1, [p]; cvta.to.global.u64 %d1, %d1; ld.global.u32 %r1, [%d1];\n"
    " { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), twice, (a); ld.param.b32 %r2, [r]; }\n"
    " st.global.u32 [%d1], %r2; ret; }\n";
static const char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>;\n"
    " ld.param.b32 %r1, [a]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n";

int main(void)
{
    CUcontext context, current;
    CUmodule module;
    CUfunction function;
    CUdeviceptr device, base, variable;
    CUlinkState link;
    char name[64], log[256] = "";
    unsigned numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7}, count = 8, flags;
    size_t size;
    void *image, *address;
    int version, active, status, value;

    EXPECT(cuDeviceGet(&value, 0), cudaErrorInitializationError);
    OK(cuInit(0));
    OK(cuDeviceGetName(name, sizeof name, 0));
    EXPECT(strcmp(name, "NVIDIA TITAN V"), 0);
    OK(cuDriverGetVersion(&version));
    EXPECT(version >= 12090, 1);
    EXPECT(cuMemAlloc_v2(&device, 16), cudaErrorDeviceUninitialized);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active, 0);
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == context, 1);

    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&function, module, "add_one"));
    EXPECT(cuModuleGetFunction(&function, module, "nothing"), cudaErrorSymbolNotFound);
    OK(cuModuleGetGlobal_v2(&variable, &size, module, "answer"));
    EXPECT(size, 4);
    OK(cuMemAlloc_v2(&device, sizeof numbers));
    OK(cuMemcpyHtoD_v2(device, numbers, sizeof numbers));
    void *pointers[] = {&device, &count};
    OK(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, pointers, NULL));
    struct { CUdeviceptr numbers; unsigned count; } block = {device, count};
    size_t block_size = sizeof block;
    void *extra[] = {(void *)1, &block, (void *)2, &block_size, NULL};
    OK(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, pointers, extra), cudaErrorInvalidValue);
    EXPECT(cuLaunchKernel(function, 0, 1, 1, 8, 1, 1, 0, NULL, pointers, NULL), cudaErrorInvalidValue);
    OK(cuMemcpyDtoH_v2(numbers, device, sizeof numbers));
    EXPECT(numbers[7], 9);
    OK(cuMemGetAddressRange_v2(&base, &size, device + 4));
    EXPECT(base, device);
    EXPECT(size, sizeof numbers);
    OK(cuPointerGetAttribute(&value, 2, device));
    EXPECT(value, 2);
    /* CU_POINTER_ATTRIBUTE_IS_MANAGED fills four bytes. */
    value = -1;
    OK(cuPointerGetAttribute(&value, 8, device));
    EXPECT(value, 0);
    OK(cuModuleUnload(module));
    EXPECT(cuModuleGetFunction(&function, module, "add_one"), cudaErrorInvalidResourceHandle);

    int options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    EXPECT(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n.nonsense {", 2, options, values), cudaErrorInvalidPtx);
    EXPECT(strlen(log) > 0, 1);
    EXPECT((size_t)values[1], strlen(log));
    EXPECT(cuModuleLoadData(&module, "no module at all"), cudaErrorInvalidKernelImage);

    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)caller, sizeof caller, "caller", 0, NULL, NULL));
    OK(cuLinkAddData_v2(link, 1, (void *)callee, sizeof callee, "callee", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &size));
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(link));
    OK(cuModuleGetFunction(&function, module, "call_twice"));
    void *argument[] = {&device};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, argument, NULL));
    OK(cuMemcpyDtoH_v2(numbers, device, sizeof numbers));
    EXPECT(numbers[0], 4);

    OK(cuGetProcAddress_v2("cuMemAlloc", &address, 12000, 0, &status));
    EXPECT(status, 0);
    OK(((int (*)(CUdeviceptr *, size_t))address)(&base, 32));
    OK(cuMemFree_v2(base));
    OK(cuGetProcAddress_v2("cuNothing", &address, 12000, 0, &status));
    EXPECT(status, 1);
    EXPECT(address == NULL, 1);
    EXPECT(cuGetExportTable((const void **)&address, "0123456789abcdef"), cudaErrorInvalidValue);

    OK(cuCtxPopCurrent_v2(&current));
    EXPECT(current == context, 1);
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == NULL, 1);
    OK(cuCtxDestroy_v2(context));
    EXPECT(cuCtxSetCurrent(context), cudaErrorDeviceUninitialized);
    return 0;
}
