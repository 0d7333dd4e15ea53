/* Ten launches of `add_one` on 64 CTAs, each in ranges of its own; prints how many numbers are right. NVTX is what its headers
 * are: tables of function pointers that the library named by NVTX_INJECTION64_PATH fills. */
#define _GNU_SOURCE
#include "../c/cuda_api.h"
#include <dlfcn.h>
#include <pthread.h>

FAT_BINARY(kernels, 70, KERNELS);

enum { COUNT = 64 * 256 };

int cudaProfilerStart(void);
int cudaProfilerStop(void);

static void (*functions[16])(void);
static void (**core[17])(void);

static int function_table(int module, void ****table, unsigned *size)
{
    if (module != 1)
        return 0;
    *table = (void ***)core;
    *size = 16;
    return 1;
}

static struct { size_t size; int (*function_table)(int, void ****, unsigned *); } callbacks = {sizeof callbacks, function_table};

static const void *export_table(unsigned table)
{
    return table == 1 ? &callbacks : NULL;
}

static void initialize_nvtx(void)
{
    const char *name = getenv("NVTX_INJECTION64_PATH");
    void *library = name ? dlopen(name, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(unsigned)) = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    for (unsigned i = 0; i < 16; ++i)
        core[i] = &functions[i];
    if (initialize)
        initialize(export_table);
}

static unsigned long start(const char *name) { return functions[5] ? ((unsigned long (*)(const char *))functions[5])(name) : 0; }
static void end(unsigned long range) { if (functions[7]) ((void (*)(unsigned long))functions[7])(range); }
static void push(const char *name) { if (functions[9]) ((int (*)(const char *))functions[9])(name); }
static void pop(void) { if (functions[11]) ((int (*)(void))functions[11])(); }

static char add_one;
static unsigned numbers[COUNT], *device, count = COUNT;

static void launch(void)
{
    dim3 grid = {64, 1, 1}, block = {256, 1, 1};
    void *arguments[] = {&device, &count};
    OK(cudaLaunchKernel(&add_one, grid, block, arguments, 0, NULL));
}

static void *other_thread(void *unused)
{
    launch();
    return unused;
}

static void launch_on_other_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    unsigned right = 0;

    __cudaRegisterFunction(handle, &add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    initialize_nvtx();
    OK(cudaMalloc((void **)&device, sizeof numbers));
    for (unsigned i = 0; i < COUNT; ++i)
        numbers[i] = i * 7;
    OK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));

    launch();                 /* 1 */
    push("epoch");
    push("step 1");
    launch();                 /* 2 */
    pop();
    push("step 2");
    launch();                 /* 3 */
    launch();                 /* 4 */
    launch_on_other_thread(); /* 5: ranges of the other thread only */
    pop();
    pop();
    unsigned long range = start("free");
    launch_on_other_thread(); /* 6: a range of all threads */
    end(range);
    launch();                 /* 7 */
    OK(cudaProfilerStart());
    launch();                 /* 8 */
    OK(cudaProfilerStop());
    launch();                 /* 9 */
    push("aten::conv2d, seq = 5");
    launch();                 /* 10 */
    pop();

    OK(cudaMemcpy(numbers, device, sizeof numbers, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < COUNT; ++i)
        right += numbers[i] == i * 7 + 10;
    printf("%u\n", right);
    return 0;
}
