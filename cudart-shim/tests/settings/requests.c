/* `requests FIRST SECOND FREED PINNED LATER`: allocates so many bytes of device memory twice, some that it frees at once, and some of the
 * host's; copies to the second and launches twice. Allocates once more before the last launch. */
#include "../c/cuda_api.h"

#define PTX \
    ".version 6.0\\n.target sm_70\\n.address_size 64\\n" \
    ".visible .entry add(.param .u64 p) {\\n" \
    "  .reg .b32 %r<2>; .reg .b64 %d<2>;\\n" \
    "  ld.param.u64 %d1, [p]; ld.u32 %r1, [%d1]; add.u32 %r1, %r1, 1; st.u32 [%d1], %r1; ret;\\n}\\n"

FAT_BINARY(kernels, 70, PTX);

static char add;

int main(int argc, char **argv)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper), *first, *second, *freed, *pinned, *later;
    unsigned value = 7;
    void *arguments[] = {&second};
    dim3 one = {1, 1, 1};

    if (argc != 6)
        return 2;
    __cudaRegisterFunction(handle, &add, "add", "add", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc(&first, atoi(argv[1])));
    OK(cudaMalloc(&second, atoi(argv[2])));
    OK(cudaMalloc(&freed, atoi(argv[3])));
    OK(cudaFree(freed));
    OK(cudaMallocHost(&pinned, atoi(argv[4])));
    OK(cudaMemcpy(second, &value, sizeof value, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(&add, one, one, arguments, 0, NULL));
    OK(cudaLaunchKernel(&add, one, one, arguments, 0, NULL));
    OK(cudaMalloc(&later, atoi(argv[5])));
    OK(cudaLaunchKernel(&add, one, one, arguments, 0, NULL));
    OK(cudaMemcpy(&value, second, sizeof value, cudaMemcpyDeviceToHost));
    printf("%u\n", value);
    return 0;
}
