/* Prints the answers to what a program asks of its device, as `name value`. With an argument, it also launches a kernel that
 * reads its clock, and prints the time from one launch to the next by the clock and by events. */
#include "../c/cuda_api.h"

#define READ_CLOCK                                                                                            \
    ".version 6.0\\n.target sm_30\\n.address_size 64\\n"                                                      \
    ".visible .entry read_clock(.param .u64 at) {\\n"                                                         \
    " .reg .pred %p; .reg .b32 %r; .reg .b64 %d, %t;\\n"                                                      \
    " ld.param.u64 %d, [at]; mov.u64 %t, %clock64; st.global.u64 [%d], %t; mov.u32 %r, 0;\\n"                 \
    "again: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 1000; @%p bra again;\\n"                                   \
    " ret; }\\n"

FAT_BINARY(kernels, 30, READ_CLOCK);

enum { LAUNCHES = 4, CLOCK_RATE = 13 };

static char read_clock;

static const struct { int number; const char *name; } asked[] = {
    {75, "major"}, {76, "minor"}, {16, "sms"}, {CLOCK_RATE, "clock_rate"}, {36, "memory_clock_rate"},
    {37, "bus_width"}, {38, "l2"}, {39, "threads_per_sm"}, {81, "shared_per_sm"}, {97, "shared_optin"},
    {12, "registers_per_cta"}, {5, "grid_x"},
};

static int attribute(int number)
{
    int value = -1;

    OK(cudaDeviceGetAttribute(&value, number, 0));
    return value;
}

/* The last two launches do the same, so that each of their moments is as far from the one of the other. */
static void measure(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    dim3 one = {1, 1, 1};
    cudaEvent_t after[LAUNCHES];
    unsigned long long *device, read[LAUNCHES];
    float milliseconds;

    __cudaRegisterFunction(handle, &read_clock, "read_clock", "read_clock", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc((void **)&device, sizeof read));
    for (int launch = 0; launch < LAUNCHES; ++launch) {
        unsigned long long *at = device + launch;
        void *arguments[] = {&at};
        OK(cudaEventCreate(&after[launch]));
        OK(cudaLaunchKernel(&read_clock, one, one, arguments, 0, NULL));
        OK(cudaEventRecord(after[launch], NULL));
    }
    OK(cudaEventSynchronize(after[LAUNCHES - 1]));
    OK(cudaEventElapsedTime(&milliseconds, after[LAUNCHES - 2], after[LAUNCHES - 1]));
    OK(cudaMemcpy(read, device, sizeof read, cudaMemcpyDeviceToHost));
    double cycles = (double)(read[LAUNCHES - 1] - read[LAUNCHES - 2]);
    printf("by_clock %.9f\n", cycles / attribute(CLOCK_RATE));
    printf("by_events %.9f\n", milliseconds);
}

int main(int count, char **words)
{
    char properties[2048];
    size_t available, all;

    (void)words;
    OK(cudaGetDeviceProperties(properties, 0));
    printf("name %s\n", properties);
    OK(cudaMemGetInfo(&available, &all));
    printf("memory %zu\n", all);
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; ++i)
        printf("%s %d\n", asked[i].name, attribute(asked[i].number));
    if (count > 1)
        measure();
    return 0;
}
