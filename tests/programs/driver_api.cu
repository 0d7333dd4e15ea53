//@ modes: shared
//@ link: -lcuda
// The driver API alone: PTX modules, launches with a list and with a buffer of
// parameters, globals, function attributes, linking, and errors with the compiler's log.
#include "check.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstring>
#include <string>

#define DRIVER(call) check_driver((call), #call, __LINE__)

static void check_driver(CUresult result, const char *call, int line) {
    if (result == CUDA_SUCCESS) return;
    const char *name = "?";
    cuGetErrorName(result, &name);
    std::printf("line %d: %s: %s\nFAIL\n", line, call, name);
    std::exit(1);
}

static const char *scale_ptx = R"(
.version 6.0
.target sm_70
.address_size 64

.visible .global .align 4 .f32 factor = 0f40000000;

.visible .entry scale(.param .u64 data, .param .u32 count, .param .f32 offset)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    .reg .f32 %f<4>;
    ld.param.u64 %d0, [data];
    ld.param.u32 %r0, [count];
    ld.param.f32 %f0, [offset];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d1, %d1, %d2;
    ld.global.f32 %f1, [%d1];
    ld.global.f32 %f2, [factor];
    fma.rn.f32 %f1, %f1, %f2, %f0;
    st.global.f32 [%d1], %f1;
    ret;
}
)";

static const char *caller_ptx = R"(
.version 6.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) triple(.param .b32 x);
.visible .entry call_triple(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<2>;
    .param .b32 x;
    .param .b32 y;
    ld.param.u64 %d0, [out];
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, 14;
    st.param.b32 [x], %r0;
    call.uni (y), triple, (x);
    ld.param.b32 %r1, [y];
    st.global.u32 [%d0], %r1;
    ret;
}
)";

static const char *callee_ptx = R"(
.version 6.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) triple(.param .b32 x)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r0, [x];
    mul.lo.u32 %r1, %r0, 3;
    st.param.b32 [result], %r1;
    ret;
}
)";

static void launches(CUmodule module) {
    CUfunction scale;
    DRIVER(cuModuleGetFunction(&scale, module, "scale"));
    unsigned count = 1000;
    std::vector<float> values = random_values<float>(count, -1, 1), wanted = values, got(count);
    CUdeviceptr data;
    DRIVER(cuMemAlloc(&data, count * sizeof(float)));
    DRIVER(cuMemcpyHtoD(data, values.data(), count * sizeof(float)));

    float offset = 0.5f;
    void *list[] = {&data, &count, &offset};
    DRIVER(cuLaunchKernel(scale, 4, 1, 1, 256, 1, 1, 0, nullptr, list, nullptr));

    // Another factor, and the parameters as one buffer.
    CUdeviceptr factor;
    size_t size;
    DRIVER(cuModuleGetGlobal(&factor, &size, module, "factor"));
    EXPECT(size == sizeof(float));
    float three = 3;
    DRIVER(cuMemcpyHtoD(factor, &three, sizeof three));
    struct {
        CUdeviceptr data;
        unsigned count;
        float offset;
    } buffer = {data, count, -1};
    size_t buffer_size = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &buffer_size, CU_LAUNCH_PARAM_END};
    CUstream stream;
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DRIVER(cuCtxSynchronize());
    DRIVER(cuLaunchKernel(scale, 4, 1, 1, 256, 1, 1, 0, stream, nullptr, extra));
    DRIVER(cuMemcpyDtoHAsync(got.data(), data, count * sizeof(float), stream));
    DRIVER(cuStreamSynchronize(stream));
    for (float &value : wanted) value = std::fma(std::fma(value, 2.0f, 0.5f), 3.0f, -1.0f);
    compare("scaled", got, wanted);

    // Launches as before CUDA 4: shape and parameters are set for the function.
    DRIVER(cuFuncSetBlockShape(scale, 256, 1, 1));
    DRIVER(cuFuncSetSharedSize(scale, 64));
    DRIVER(cuParamSetSize(scale, 16));
    DRIVER(cuParamSetv(scale, 0, &data, sizeof data));
    DRIVER(cuParamSeti(scale, 8, count));
    DRIVER(cuParamSetf(scale, 12, 0.25f));
    DRIVER(cuLaunchGridAsync(scale, 2, 1, stream));
    EXPECT(cuFuncSetBlockShape(scale, 0, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemcpyDtoHAsync(got.data(), data, count * sizeof(float), stream));
    DRIVER(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < 512; ++i) wanted[i] = std::fma(wanted[i], 3.0f, 0.25f);
    compare("scaled as before", got, wanted);
    // Functions from before CUDA 3.2, with 32-bit addresses, belong to contexts of that version.
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    auto allocate = reinterpret_cast<CUresult (*)(unsigned *, unsigned)>(dlsym(driver, "cuMemAlloc"));
    unsigned narrow;
    EXPECT(allocate != nullptr && allocate(&narrow, 4) == CUDA_ERROR_INVALID_CONTEXT);

    int threads, registers;
    DRIVER(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
    DRIVER(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, scale));
    EXPECT(threads == 1024 && registers > 0);
    EXPECT(cuLaunchKernel(scale, 1, 1, 1, 1025, 1, 1, 0, nullptr, list, nullptr) == CUDA_ERROR_INVALID_VALUE);

    CUdeviceptr base;
    DRIVER(cuMemGetAddressRange(&base, &size, data + 100));
    EXPECT(base == data && size == count * sizeof(float));
    DRIVER(cuStreamDestroy(stream));
    DRIVER(cuMemFree(data));
}

static void errors(CUmodule module) {
    CUfunction function;
    EXPECT(cuModuleGetFunction(&function, module, "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
    CUmodule broken;
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    EXPECT(cuModuleLoadDataEx(&broken, "this is no PTX", 2, options, values) == CUDA_ERROR_INVALID_PTX ||
           cuModuleLoadDataEx(&broken, "this is no PTX", 2, options, values) == CUDA_ERROR_INVALID_IMAGE);
    const char *name;
    DRIVER(cuGetErrorName(CUDA_ERROR_INVALID_PTX, &name));
    EXPECT(std::strcmp(name, "CUDA_ERROR_INVALID_PTX") == 0);
    EXPECT(cuMemFree(CUdeviceptr(0x1234)) == CUDA_ERROR_INVALID_VALUE);
}

static void linking() {
    CUlinkState link;
    void *image;
    size_t size;
    DRIVER(cuLinkCreate(0, nullptr, nullptr, &link));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller_ptx, std::strlen(caller_ptx) + 1, "caller", 0, nullptr, nullptr));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)callee_ptx, std::strlen(callee_ptx) + 1, "callee", 0, nullptr, nullptr));
    DRIVER(cuLinkComplete(link, &image, &size));
    CUmodule module;
    CUfunction function;
    DRIVER(cuModuleLoadData(&module, image));
    DRIVER(cuLinkDestroy(link));
    DRIVER(cuModuleGetFunction(&function, module, "call_triple"));
    CUdeviceptr out;
    DRIVER(cuMemAlloc(&out, 4));
    void *list[] = {&out};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, list, nullptr));
    unsigned got = 0;
    DRIVER(cuMemcpyDtoH(&got, out, 4));
    EXPECT(got == 42);
    DRIVER(cuMemFree(out));
    DRIVER(cuModuleUnload(module));
}

int main() {
    DRIVER(cuInit(0));
    int devices, version, major;
    DRIVER(cuDeviceGetCount(&devices));
    DRIVER(cuDriverGetVersion(&version));
    EXPECT(devices >= 1 && version >= 12000);
    CUdevice device;
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    char name[100];
    DRIVER(cuDeviceGetName(name, sizeof name, device));
    EXPECT(major >= 7 && name[0] != 0);
    CUcontext context, current;
    CUctxCreateParams parameters = {};
    DRIVER(cuCtxCreate(&context, &parameters, 0, device));
    DRIVER(cuCtxGetCurrent(&current));
    EXPECT(current == context);

    CUmodule module;
    DRIVER(cuModuleLoadData(&module, scale_ptx));
    launches(module);
    errors(module);
    DRIVER(cuModuleUnload(module));
    linking();
    DRIVER(cuCtxDestroy(context));
    return finish();
}
