/* A library with device code, registered as nvcc's stub does it: when it is loaded and when it is unloaded. */
#include "../cuda_api.h"

FAT_BINARY(kernels, 70, KERNELS);

static void **handle;
static unsigned answer;

static void add_one(void) {}

__attribute__((constructor)) static void register_code(void)
{
    handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, (char *)add_one, "add_one", "add_one", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, (char *)&answer, "answer", "answer", 0, sizeof answer, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void unregister_code(void) { __cudaUnregisterFatBinary(handle); }

/* Adds 1 to each number on the device, and puts the variable of this library, 7 when it is loaded, up by one. */
int add(unsigned *device, unsigned count, unsigned *before)
{
    dim3 grid = {(count + 255) / 256, 1, 1}, block = {256, 1, 1};
    void *arguments[] = {&device, &count};
    int error = cudaMemcpyFromSymbol(before, &answer, sizeof answer, 0, cudaMemcpyDeviceToHost);
    unsigned after = *before + 1;

    if (!error)
        error = cudaMemcpyToSymbol(&answer, &after, sizeof after, 0, cudaMemcpyHostToDevice);
    return error ? error : cudaLaunchKernel(add_one, grid, block, arguments, 0, NULL);
}
