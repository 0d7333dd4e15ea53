/* A library with a kernel that cannot be executed. `launch` drops the error as `<<<…>>>` does, `launch_and_ask` returns the
 * last error, `launch_by_driver` what the driver's launch returns, and `cudnnFindAlgorithm` tells its caller what it tried. */
#include "../cuda_api.h"

FAT_BINARY(kernels, 70, ".version 8.6\\n.target sm_100a\\n.address_size 64\\n"
    ".visible .entry refused() { tcgen05.wait::ld.sync.aligned; ret; }\\n");

static void refused(void) {}

__attribute__((constructor)) static void register_code(void)
{
    void **handle = __cudaRegisterFatBinary(&kernels_wrapper);
    __cudaRegisterFunction(handle, (char *)refused, "refused", "refused", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

int launch(void)
{
    dim3 one = {1, 1, 1}, grid, block;
    size_t shared;
    void *stream;

    __cudaPushCallConfiguration(one, one, 0, NULL);
    __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
    cudaLaunchKernel(refused, grid, block, NULL, shared, stream);
    return 0;
}

int launch_and_ask(void)
{
    launch();
    return cudaGetLastError();
}

int cudnnFindAlgorithm(void)
{
    volatile int tried = launch_and_ask();
    return tried;
}

int launch_by_driver(void)
{
    CUfunction function;
    dim3 one = {1, 1, 1};

    OK(cudaGetFuncBySymbol(&function, refused));
    return cuLaunchKernel(function, one.x, one.y, one.z, 1, 1, 1, 0, NULL, NULL, NULL);
}
