/* Launches twice with an argument of which it has set the beginning alone. */
#include "../c/cuda_api.h"

/* Reads the last 768 bytes of the argument, and uses its beginning. */
#define READ_16(h) "  ld.param.u64 %d2, [p+0x" #h "0]; ld.param.u64 %d2, [p+0x" #h "8];\\n"
#define READ_256(h) \
    READ_16(h##0) READ_16(h##1) READ_16(h##2) READ_16(h##3) READ_16(h##4) READ_16(h##5) READ_16(h##6) READ_16(h##7) \
    READ_16(h##8) READ_16(h##9) READ_16(h##a) READ_16(h##b) READ_16(h##c) READ_16(h##d) READ_16(h##e) READ_16(h##f)
#define PTX \
    ".version 6.0\\n.target sm_70\\n.address_size 64\\n" \
    ".visible .entry add(.param .align 8 .b8 p[1024]) {\\n" \
    "  .reg .b32 %r<3>; .reg .b64 %d<3>;\\n" \
    "  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [p+8];\\n" \
    READ_256(1) READ_256(2) READ_256(3) \
    "  ld.u32 %r2, [%d1]; add.u32 %r2, %r2, %r1; st.u32 [%d1], %r2; ret;\\n}\\n"

FAT_BINARY(kernels, 70, PTX);

struct argument {
    void *memory;
    unsigned long long number;
    char unset[1008];
};

static char add;

static __attribute__((noinline)) void launch(void *memory)
{
    struct argument argument;
    void *arguments[] = {&argument};
    dim3 one = {1, 1, 1};

    argument.memory = memory;
    argument.number = 5;
    OK(cudaLaunchKernel(&add, one, one, arguments, 0, NULL));
}

/* Launches from further down the stack, where frames of calls have been. */
static __attribute__((noinline)) void launch_below(void *memory)
{
    volatile char room[8192];

    room[0] = 0;
    launch(memory);
    room[sizeof room - 1] = 0;
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper), *memory;
    unsigned value = 7;

    __cudaRegisterFunction(handle, &add, "add", "add", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc(&memory, sizeof value));
    OK(cudaMemcpy(memory, &value, sizeof value, cudaMemcpyHostToDevice));
    launch_below(memory);
    launch_below(memory);
    OK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
    printf("%u\n", value);
    return 0;
}
