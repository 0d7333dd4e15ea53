//@ modes: shared
//@ link: -lcuda
//@ stdout: PASS
// A module of 5 MB with 1,000 kernels: only the launched kernel has a cost; reading the others is cheap.
#include "check.h"

#include <cuda.h>
#include <sys/resource.h>

#include <chrono>
#include <string>

static void check_driver(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS) return;
    const char *name = "?";
    cuGetErrorName(result, &name);
    std::printf("%s: %s\nFAIL\n", call, name);
    std::exit(1);
}
#define DRIVER(call) check_driver((call), #call)

constexpr int kernels = 1000;
constexpr int steps = 128;

// Kernel `number` stores the sum of its number and 0, 1, … `steps` - 1.
static std::string kernel(int number) {
    std::string text = ".visible .entry kernel_" + std::to_string(number) + "(.param .u64 out)\n{\n";
    text += "    .reg .b32 %r<4>;\n    .reg .b64 %d<3>;\n    ld.param.u64 %d0, [out];\n";
    text += "    cvta.to.global.u64 %d1, %d0;\n    mov.u32 %r1, " + std::to_string(number) + ";\n";
    for (int step = 0; step < steps; ++step) text += "    add.u32         %r1, %r1, " + std::to_string(step) + ";\n";
    return text + "    st.global.u32 [%d1], %r1;\n    ret;\n}\n";
}

static long peak_megabytes() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

int main() {
    std::string text = ".version 6.0\n.target sm_70\n.address_size 64\n";
    for (int number = 0; number < kernels; ++number) text += kernel(number);
    DRIVER(cuInit(0));
    CUdevice device;
    CUcontext context;
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    CUdeviceptr out;
    DRIVER(cuMemAlloc(&out, 4));

    const long before = peak_megabytes();
    const auto start = std::chrono::steady_clock::now();
    CUmodule module;
    CUfunction function;
    DRIVER(cuModuleLoadData(&module, text.c_str()));
    DRIVER(cuModuleGetFunction(&function, module, "kernel_777"));
    void *parameters[] = {&out};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    DRIVER(cuCtxSynchronize());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const long megabytes = peak_megabytes() - before;

    unsigned sum = 0;
    DRIVER(cuMemcpyDtoH(&sum, out, 4));
    EXPECT(sum == 777u + steps * (steps - 1) / 2);
    std::printf("module of %.1f MB, %d kernels: loaded, one launched in %.3f s, %ld MB more in use\n",
                text.size() / 1e6, kernels, taken.count(), megabytes);
    EXPECT(megabytes < 100);
    return finish();
}
