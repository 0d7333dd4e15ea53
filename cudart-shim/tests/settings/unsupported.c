/* Calls a function that has no body, twice. */
#include "../c/cuda_api.h"

int cudaGraphicsMapResources(int, void *, cudaStream_t);

int main(void)
{
    EXPECT(cudaGraphicsMapResources(1, NULL, NULL), cudaErrorNotSupported);
    EXPECT(cudaGetLastError(), cudaErrorNotSupported);
    EXPECT(cudaGraphicsMapResources(1, NULL, NULL), cudaErrorNotSupported);
    return 0;
}
