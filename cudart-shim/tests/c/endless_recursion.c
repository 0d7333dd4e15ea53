/* A kernel that calls itself without end uses up its stack: a sticky error, gone after a reset. */
#include "cuda_api.h"

FAT_BINARY(kernels, 70,
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".func (.param .b32 out) deeper(.param .b32 in) {\\n"
    " .reg .b32 %r<3>; ld.param.u32 %r1, [in]; add.u32 %r1, %r1, 1;\\n"
    " { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), deeper, (a); ld.param.b32 %r2, [b]; }\\n"
    " st.param.b32 [out], %r2; ret; }\\n"
    ".visible .entry endless() { .reg .b32 %r<2>; mov.u32 %r1, 0;\\n"
    " { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), deeper, (a); } ret; }\\n"
    ".visible .entry good() { ret; }\\n");

static char endless, good;

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    dim3 grid = {4, 1, 1}, block = {64, 1, 1};

    __cudaRegisterFunction(handle, &endless, "endless", "endless", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &good, "good", "good", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaLaunchKernel(&endless, grid, block, NULL, 0, NULL));
    EXPECT(cudaDeviceSynchronize(), cudaErrorHardwareStackError);
    EXPECT(cudaLaunchKernel(&good, grid, block, NULL, 0, NULL), cudaErrorHardwareStackError);
    OK(cudaDeviceReset());
    cudaGetLastError();
    OK(cudaLaunchKernel(&good, grid, block, NULL, 0, NULL));
    OK(cudaDeviceSynchronize());
    return 0;
}
