/* Prints the device's name; the exit status is the code of the first error. */
#include "../c/cuda_api.h"

int main(void)
{
    char properties[2048];
    int count, error = cudaGetDeviceCount(&count);
    if (error)
        return error;
    if ((error = cudaGetDeviceProperties(properties, 0)))
        return error;
    puts(properties);
    return cudaGetDeviceProperties(properties, 9) != cudaErrorInvalidDevice;
}
