/* Work without end of the kind that the first argument names; prints the error's name where the program waits for it.
   "unfinished" and "unfinished_stream" return from main while the work goes on. */
#include "../c/cuda_api.h"
#include <string.h>

FAT_BINARY(kernels, 70,
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry endless(.param .u64 address) {\n"
    " .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [address]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
    "again: atom.global.add.u32 %r2, [%d1], 1; bra.uni again; }\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n"
    ".global .align 1 .b8 text[32] = {116,101,120,116,32,111,102,32,97,32,107,101,114,110,101,108,10,0};\n"
    ".visible .entry chat(.param .u64 times) {\n"
    " .reg .pred %p; .reg .b64 %d<4>;\n"
    " ld.param.u64 %d1, [times]; mov.u64 %d2, text; cvta.global.u64 %d2, %d2;\n"
    "again: { .param .b64 format, arguments; .param .b32 r; st.param.b64 [format], %d2; st.param.b64 [arguments], 0;\n"
    " call (r), vprintf, (format, arguments); }\n"
    " sub.u64 %d1, %d1, 1; setp.ne.u64 %p, %d1, 0; @%p bra again; ret; }\n");

int cuStreamWaitValue32(void *, uint64_t, uint32_t, unsigned);

static char endless, chat;

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "";
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper), *memory, *arguments[] = {&memory};
    uint64_t times = count > 2 ? strtoull(words[2], NULL, 10) : 1;
    void *for_chat[] = {&times};
    dim3 grid = {4, 1, 1}, block = {64, 1, 1};

    __cudaRegisterFunction(handle, &endless, "endless", "endless", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &chat, "chat", "chat", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc(&memory, 4096));
    if (!strcmp(kind, "kernel") || !strcmp(kind, "unfinished")) {
        OK(cudaLaunchKernel(&endless, grid, block, arguments, 0, NULL));
    } else if (!strcmp(kind, "wait") || !strcmp(kind, "unfinished_wait")) {
        OK(cudaMemset(memory, 0, 4096));
        OK(cuStreamWaitValue32(0, (uint64_t)memory, 1, 1));
    } else if (!strcmp(kind, "chat")) {
        OK(cudaDeviceSetLimit(1, 1 << 20));
        OK(cudaLaunchKernel(&chat, grid, block, for_chat, 0, NULL));
    }
    if (!strncmp(kind, "unfinished", 10)) {
        puts("main returns");
        return 0;
    }
    fprintf(stderr, "%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
