/* Launches of several kernels with copies, fills and memory that the host sees between them. What the host prints, and what
 * it does next, depends on what the kernels have done. `steps N` gives launch N another argument; `steps N copy` sends other
 * bytes before it; `steps N allocate` allocates memory before it; `steps 7 wait` waits for another word before it;
 * `steps N elsewhere` gives it, beside what it uses, an address of other memory of the program's own. */
#include "../c/cuda_api.h"

int cuStreamWaitValue32_v2(cudaStream_t, CUdeviceptr, uint32_t, unsigned);

#define PTX \
    ".version 6.0\\n.target sm_70\\n.address_size 64\\n" \
    ".visible .global .align 8 .u64 kept;\\n" \
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\\n" \
    ".extern .func (.param .b64 r) malloc (.param .b64 s);\\n" \
    ".global .align 1 .b8 text[11] = {115, 97, 105, 100, 32, 37, 117, 10, 0, 0, 0};\\n" \
    ".visible .entry add(.param .u64 p, .param .u32 v, .param .u64 q) {\\n" \
    "  .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %none;\\n" \
    "  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [v];\\n" \
    "  ld.param.u64 %d3, [q]; setp.eq.u64 %none, %d3, 0; @%none trap;\\n" \
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r2, %r2, %r3, %r4;\\n" \
    "  mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\\n" \
    "  ld.u32 %r5, [%d1]; mad.lo.u32 %r5, %r5, 3, %r1; st.u32 [%d1], %r5; ret;\\n}\\n" \
    ".visible .entry say(.param .u32 v) {\\n" \
    "  .local .align 8 .b8 a[8]; .reg .b32 %r<3>; .reg .b64 %d<4>;\\n" \
    "  ld.param.u32 %r1, [v]; mov.u64 %d1, a; st.local.u32 [%d1], %r1; cvta.local.u64 %d1, %d1;\\n" \
    "  mov.u64 %d2, text; cvta.global.u64 %d2, %d2;\\n" \
    "  { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d2; st.param.b64 [y], %d1;\\n" \
    "    call.uni (z), vprintf, (x, y); }\\n  ret;\\n}\\n" \
    ".visible .entry keep(.param .u32 v) {\\n" \
    "  .reg .b32 %r<3>; .reg .b64 %d<4>;\\n" \
    "  ld.param.u32 %r1, [v]; mov.u64 %d1, 40;\\n" \
    "  { .param .b64 x; .param .b64 z; st.param.b64 [x], %d1; call.uni (z), malloc, (x); ld.param.b64 %d2, [z]; }\\n" \
    "  st.u32 [%d2+16], %r1; st.global.u64 [kept], %d2; ret;\\n}\\n" \
    ".visible .entry fetch(.param .u64 p) {\\n" \
    "  .reg .b32 %r<3>; .reg .b64 %d<4>;\\n" \
    "  ld.param.u64 %d1, [p]; ld.global.u64 %d2, [kept]; ld.u32 %r1, [%d2+16]; st.u32 [%d1], %r1; ret;\\n}\\n"

FAT_BINARY(kernels, 70, PTX);

enum { COUNT = 1 << 14, NOISE = 1 << 16 };

static char add, say, keep, fetch;
static unsigned numbers[COUNT], noise[NOISE];
static int launches, changed;
static const char *change = "";

static void launch(void *kernel, unsigned ctas, unsigned threads, void **arguments, cudaStream_t stream)
{
    dim3 grid = {ctas, 1, 1}, block = {threads, 1, 1};
    OK(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream));
    ++launches;
}

/* Adds to COUNT numbers in device memory, and prints the first. */
static void add_to(unsigned *device, unsigned value, cudaStream_t stream)
{
    int is_next = launches + 1 == changed;
    unsigned first, *unused = &first;
    void *lost;

    value += is_next && !*change;
    if (is_next && !strcmp(change, "copy"))
        OK(cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice));
    if (is_next && !strcmp(change, "allocate"))
        OK(cudaMalloc(&lost, 1000));
    if (is_next && !strcmp(change, "elsewhere"))
        unused = numbers;
    void *arguments[] = {&device, &value, &unused};
    launch(&add, COUNT / 256, 256, arguments, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&first, device, sizeof first, cudaMemcpyDeviceToHost));
    printf("%d: %u\n", launches, first);
}

static void called(void *count)
{
    ++*(int *)count;
}

int main(int argc, char **argv)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    unsigned *device, *other, *noisy, *pinned, *managed, *registered = aligned_alloc(4096, 4096), sum = 0;
    int calls = 0;
    cudaStream_t stream;
    cudaEvent_t event;

    changed = argc > 1 ? atoi(argv[1]) : 0;
    change = argc > 2 ? argv[2] : "";
    __cudaRegisterFunction(handle, &add, "add", "add", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &say, "say", "say", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &keep, "keep", "keep", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &fetch, "fetch", "fetch", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaMalloc((void **)&device, sizeof numbers));
    OK(cudaMallocHost((void **)&pinned, sizeof numbers));
    OK(cudaMallocManaged((void **)&managed, 4096, 1));
    OK(cudaHostRegister(memset(registered, 0, 4096), 4096, 0));
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    for (unsigned i = 0; i < COUNT; ++i)
        numbers[i] = i * 7;
    OK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    /* A file has noise as it is, and not packed. */
    for (unsigned i = 0, value = 1; i < NOISE; ++i) {
        value ^= value << 13;
        value ^= value >> 17;
        noise[i] = value ^= value << 5;
    }
    OK(cudaMalloc((void **)&noisy, sizeof noise));
    OK(cudaMemcpy(noisy, noise, sizeof noise, cudaMemcpyHostToDevice));
    for (unsigned i = 1; i <= 3; ++i)
        add_to(device, i, NULL);

    /* Memory that both sides see: what the host reads, the next launch gets. */
    unsigned *fetched = managed;
    void *kept[] = {&sum}, *to_managed[] = {&fetched};
    sum = 1000;
    launch(&keep, 1, 1, kept, NULL);
    launch(&fetch, 1, 1, to_managed, NULL);
    OK(cudaDeviceSynchronize());
    printf("managed %u\n", managed[0]);
    managed[1] = managed[0] + 1;
    fetched = registered;
    launch(&fetch, 1, 1, to_managed, stream);
    OK(cudaStreamSynchronize(stream));
    printf("registered %u\n", registered[0]);
    OK(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)&registered[changed == 7 && !strcmp(change, "wait")], 0, 0));
    add_to(device, managed[1], stream);

    /* Other memory, by another stream, with a function of the host in between. */
    OK(cudaMallocAsync((void **)&other, sizeof numbers, stream));
    OK(cudaMemcpyAsync(other, device, sizeof numbers, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemset(device, 0x11, 100));
    OK(cudaLaunchHostFunc(stream, called, &calls));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(NULL, event, 0));
    add_to(device, 5, NULL);
    add_to(other, 6, stream);
    OK(cudaFree(device));
    OK(cudaMemcpyAsync(pinned, other, sizeof numbers, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (unsigned i = 0; i < COUNT; ++i)
        sum = sum * 31 + pinned[i];
    void *words[] = {&sum};
    launch(&say, 1, 1, words, stream);
    OK(cudaMalloc((void **)&device, sizeof numbers / 2));
    OK(cudaMemcpy(device, pinned, sizeof numbers / 2, cudaMemcpyHostToDevice));
    for (unsigned i = 0; i < 2; ++i)
        launch(&say, 1, 1, words, NULL);
    add_to(other, sum, stream);
    fetched = device;
    launch(&fetch, 1, 1, to_managed, NULL);
    OK(cudaMemcpy(numbers, device, sizeof numbers / 2, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < COUNT / 2; ++i)
        sum = sum * 31 + numbers[i];
    OK(cudaMemset(noisy, 0x22, 100));
    OK(cudaMemcpy(noise, noisy, sizeof noise, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < NOISE; ++i)
        sum = sum * 31 + noise[i];
    OK(cudaDeviceSynchronize());
    printf("%d launches, %d calls, %u\n", launches, calls, sum);
    return 0;
}
