/* Kernels use memory that the program has registered, and on its half way other memory in its place. `registered N` allocates N bytes
 * before it, so that it lies elsewhere. Of `registered N MODE` the first launch
 *   keep     keeps its address in device memory,
 *   tell     in memory that the host sees,
 *   number   writes its address, which the program tells, or the number that follows, to device memory,
 *   around   changes words around addresses that the program has in it,
 *   less     is as without mode, but some bytes of the memory are not registered. */
#include "../c/cuda_api.h"

#define PTX \
    ".version 6.0\\n.target sm_70\\n.address_size 64\\n" \
    ".visible .entry add(.param .u64 p) {\\n" \
    "  .reg .b32 %r; .reg .b64 %d;\\n" \
    "  ld.param.u64 %d, [p]; ld.u32 %r, [%d]; mad.lo.u32 %r, %r, 3, 1; st.u32 [%d], %r; ret;\\n}\\n" \
    ".visible .entry around(.param .u64 p) {\\n" \
    "  .reg .b64 %d;\\n" \
    "  ld.param.u64 %d, [p]; st.u64 [%d], 77; st.u64 [%d+24], 78; ret;\\n}\\n" \
    ".visible .entry keep(.param .u64 p, .param .u64 to) {\\n" \
    "  .reg .b64 %d<2>;\\n" \
    "  ld.param.u64 %d0, [p]; ld.param.u64 %d1, [to]; st.u64 [%d1], %d0; ret;\\n}\\n"

FAT_BINARY(kernels, 70, PTX);

enum { COUNT = 1000, SIZE = COUNT * sizeof(unsigned), PLACE = COUNT / 4 };

static char add, around, keep;

int main(int count, char **arguments)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    dim3 one = {1, 1, 1};
    unsigned *device, *registered, *pinned, *others;
    void *before, *kernel = &add, *value, **addresses;
    const char *mode = count > 2 ? arguments[2] : "";

    __cudaRegisterFunction(handle, &add, "add", "add", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &around, "around", "around", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &keep, "keep", "keep", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    before = malloc(atoi(arguments[1]));
    registered = calloc(COUNT, sizeof *registered);
    EXPECT(before && registered, 1);
    OK(cudaMalloc((void **)&device, SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    OK(cudaHostRegister(registered, strcmp(mode, "less") ? SIZE : SIZE - 8, 0));
    value = registered;
    addresses = (void **)(registered + PLACE);
    if (!strcmp(mode, "keep") || !strcmp(mode, "tell"))
        kernel = &keep;
    if (!strcmp(mode, "number")) {
        kernel = &keep;
        fprintf(stderr, "%p\n", (void *)registered);
        if (count > 3)
            value = (void *)strtoull(arguments[3], NULL, 0);
    }
    if (!strcmp(mode, "around")) {
        kernel = &around;
        value = addresses;
        addresses[1] = before;
        addresses[2] = registered;
    }
    void *first[] = {&value, strcmp(mode, "tell") ? &device : &pinned};
    OK(cudaLaunchKernel(kernel, one, one, first, 0, NULL));
    if (kernel == &around) {
        OK(cudaDeviceSynchronize());
        EXPECT(addresses[0] == (void *)77 && addresses[3] == (void *)78, 1);
        EXPECT(addresses[1] == before && addresses[2] == registered, 1);
    }
    for (unsigned launch = 2; launch <= 6; ++launch) {
        if (launch == 4) {
            others = malloc(SIZE);
            EXPECT(others != NULL, 1);
            memcpy(others, registered, SIZE);
            OK(cudaHostUnregister(registered));
            OK(cudaHostRegister(others, SIZE, 0));
            free(registered);
            registered = others;
        }
        unsigned *word = registered + launch % 3;
        void *words[] = {&word};
        OK(cudaLaunchKernel(&add, one, one, words, 0, NULL));
        OK(cudaMemcpy(device + COUNT / 2, registered, PLACE * 4, cudaMemcpyHostToDevice));
        OK(cudaMemcpy(registered + COUNT / 2, device + COUNT / 2, PLACE * 4, cudaMemcpyDeviceToHost));
        registered[0] += launch;
    }
    OK(cudaDeviceSynchronize());
    OK(cudaHostUnregister(registered));
    printf("%u %u %u %u\n", registered[0], registered[1], registered[2], registered[COUNT / 2 + 1]);
    return 0;
}
