/* Launches of a kernel that gets a list by value and indexes it, as optimizers do: of 8 entries only as many are filled in as there
 * are arrays, the others are whatever was in memory: `lists NOISE` is what. `lists NOISE N` gives launch N another value in an
 * entry that it reads. */
#include "../c/cuda_api.h"

#define PTX \
    ".version 6.0\\n.target sm_70\\n.address_size 64\\n" \
    ".visible .entry scale(.param .align 8 .b8 list[104]) {\\n" \
    "  .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;\\n" \
    "  ld.param.u32 %r1, [list]; mov.u32 %r2, %ctaid.x; setp.ge.u32 %p, %r2, %r1; @%p ret;\\n" \
    "  mov.b64 %d1, list; mul.wide.u32 %d2, %r2, 8; add.s64 %d2, %d1, %d2; ld.param.u64 %d3, [%d2+8];\\n" \
    "  mul.wide.u32 %d4, %r2, 4; add.s64 %d4, %d1, %d4; ld.param.u32 %r3, [%d4+72];\\n" \
    "  mov.u32 %r4, %tid.x; mul.wide.u32 %d5, %r4, 4; add.s64 %d3, %d3, %d5;\\n" \
    "  ld.u32 %r5, [%d3]; mad.lo.u32 %r5, %r5, %r3, %r4; st.u32 [%d3], %r5; ret;\\n}\\n"

FAT_BINARY(kernels, 70, PTX);

enum { MOST = 8, WORDS = 64, LAUNCHES = 6 };

struct list {
    unsigned count;
    unsigned *arrays[MOST];
    unsigned factors[MOST];
};

static char scale;

int main(int argc, char **argv)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    int noise = argc > 1 ? atoi(argv[1]) : 0, changed = argc > 2 ? atoi(argv[2]) : 0;
    unsigned *arrays[MOST], words[WORDS];

    __cudaRegisterFunction(handle, &scale, "scale", "scale", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    for (unsigned i = 0; i < MOST; ++i) {
        OK(cudaMalloc((void **)&arrays[i], sizeof words));
        OK(cudaMemset(arrays[i], i, sizeof words));
    }
    for (unsigned launch = 1; launch <= LAUNCHES; ++launch) {
        struct list list;
        void *arguments[] = {&list};
        dim3 grid = {MOST, 1, 1}, block = {WORDS, 1, 1};
        unsigned sum = 0;

        memset(&list, noise, sizeof list);
        list.count = launch;
        for (unsigned i = 0; i < launch; ++i) {
            list.arrays[i] = arrays[i];
            list.factors[i] = i + 3 + (launch == (unsigned)changed && i == launch - 1);
        }
        OK(cudaLaunchKernel(&scale, grid, block, arguments, 0, NULL));
        for (unsigned i = 0; i < MOST; ++i) {
            OK(cudaMemcpy(words, arrays[i], sizeof words, cudaMemcpyDeviceToHost));
            for (unsigned j = 0; j < WORDS; ++j)
                sum = sum * 31 + words[j];
        }
        printf("%u: %u\n", launch, sum);
    }
    return 0;
}
