/* A library with device code that launches a kernel and waits for the device when it is unloaded. */
#include "../cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

static void **handle;
static unsigned *device, count;

static void add_one(void) {}

static int launch(void)
{
    dim3 grid = {(count + 255) / 256, 1, 1}, block = {256, 1, 1};
    void *arguments[] = {&device, &count};

    return cudaLaunchKernel(add_one, grid, block, arguments, 0, NULL);
}

__attribute__((constructor)) static void register_code(void)
{
    handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void unregister_code(void)
{
    launch();
    cudaDeviceSynchronize();
    __cudaUnregisterFatBinary(handle);
}

/* Adds 1 to each number on the device, and once more when the library is unloaded. */
int add(unsigned *numbers, unsigned size, int now)
{
    device = numbers;
    count = size;
    return now ? launch() : 0;
}
