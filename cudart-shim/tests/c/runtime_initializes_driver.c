/* A call of the runtime that asks for devices initialises the driver, as cuInit does, and makes no context. */
#include "cuda_api.h"

int main(void)
{
    int count, active;
    unsigned flags;

    EXPECT(cuDevicePrimaryCtxGetState(0, &flags, &active), cudaErrorInitializationError);
    OK(cudaGetDeviceCount(&count));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active, 0);
    return 0;
}
