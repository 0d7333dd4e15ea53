/* A launch that fails, and what the program does after it has reset the device. */
#include "../c/cuda_api.h"

#define PTX \
    ".version 6.0\\n.target sm_70\\n.address_size 64\\n" \
    ".visible .entry trap_if(.param .u64 p) {\\n" \
    "  .reg .pred %p; .reg .b32 %r; .reg .b64 %d;\\n" \
    "  ld.param.u64 %d, [p]; ld.u32 %r, [%d]; setp.eq.u32 %p, %r, 7;\\n" \
    "  @%p trap;\\n  add.u32 %r, %r, 1; st.u32 [%d], %r; ret;\\n}\\n"

FAT_BINARY(kernels, 70, PTX);

static char trap_if;

static void launch(unsigned number)
{
    dim3 one = {1, 1, 1};
    unsigned *device;
    void *words[] = {&device};
    int launched, copied;

    OK(cudaMalloc((void **)&device, sizeof number));
    OK(cudaMemcpy(device, &number, sizeof number, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(&trap_if, one, one, words, 0, NULL));
    launched = cudaDeviceSynchronize();
    copied = cudaMemcpy(&number, device, sizeof number, cudaMemcpyDeviceToHost);
    printf("%d %d %u\n", launched, copied, number);
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, &trap_if, "trap_if", "trap_if", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    launch(1);
    launch(7);
    OK(cudaDeviceReset());
    launch(3);
    launch(4);
    return 0;
}
