/* Launches the kernel that is its argument and prints the error's name; the exit status says whether a reset helped. */
#include "../c/cuda_api.h"

FAT_BINARY(kernels, 70,
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".visible .entry wild(.param .u64 address) {\\n"
    " .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<2>;\\n"
    " mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 64, %r1;\\n"
    " setp.ne.u32 %p, %r3, 165; @%p ret;\\n"
    " ld.param.u64 %d1, [address];\\n"
    " st.global.u32 [%d1], %r3;\\n"
    " ret; }\\n"
    ".visible .entry endless(.param .u64 address) {\\n"
    "again: bra.uni again; }\\n"
    ".visible .entry deadlock(.param .u64 address) {\\n"
    " .reg .pred %p; .reg .b32 %r1;\\n"
    " mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 32; @%p ret;\\n"
    " barrier.sync 0, 64;\\n"
    " ret; }\\n"
    ".visible .entry good(.param .u64 address) { ret; }\\n"
    ".visible .entry contraction(.param .u64 address) {\\n"
    " .reg .pred %p; .reg .f32 %a, %m;\\n"
    " mov.f32 %a, 0f3F800800; mul.f32 %m, %a, %a; sub.f32 %m, %m, 0f3F801000;\\n"
    " setp.ne.f32 %p, %m, 0f00000000; @%p trap;\\n"
    " ret; }\\n");

static char kernel, good;

int main(int count, char **words)
{
    uint64_t address = 0x123450;
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper), *arguments[] = {&address};
    dim3 grid = {4, 1, 1}, block = {64, 1, 1};

    if (count < 2)
        return 2;
    __cudaRegisterFunction(handle, &kernel, words[1], words[1], -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &good, "good", "good", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaLaunchKernel(&kernel, grid, block, arguments, 0, NULL));
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
    OK(cudaDeviceReset());
    cudaGetLastError();
    OK(cudaLaunchKernel(&good, grid, block, arguments, 0, NULL));
    return cudaDeviceSynchronize();
}
