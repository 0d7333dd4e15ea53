/* Runs a kernel long enough to be kept in the cache of decoded functions; prints what it computed. */
#include "../c/cuda_api.h"

#define FOUR(text) text text text text
#define ADDITIONS FOUR(FOUR(FOUR(FOUR(" add.u32 %r1, %r1, 1;\\n"))))

FAT_BINARY(kernels, 70,
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".visible .entry count(.param .u64 result) {\\n"
    " .reg .b32 %r<2>; .reg .b64 %d<2>;\\n"
    " ld.param.u64 %d1, [result]; mov.u32 %r1, 0;\\n"
    ADDITIONS
    " st.global.u32 [%d1], %r1; ret; }\\n");

static void count(void) {}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    dim3 one = {1, 1, 1};
    unsigned *device, result;
    void *arguments[] = {&device};

    __cudaRegisterFunction(handle, (char *)count, "count", "count", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc((void **)&device, 4));
    OK(cudaLaunchKernel(count, one, one, arguments, 0, NULL));
    OK(cudaMemcpy(&result, device, 4, cudaMemcpyDeviceToHost));
    printf("%u\n", result);
    return 0;
}
