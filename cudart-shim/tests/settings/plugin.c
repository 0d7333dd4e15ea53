/* Launches a kernel of a library, whose path is an argument, and prints what comes of it. */
#include "../c/cuda_api.h"
#include <dlfcn.h>

enum { COUNT = 1000 };

int main(int count, char **arguments)
{
    unsigned *device, before, last;
    void *library;

    EXPECT(count, 2);
    OK(cudaMalloc((void **)&device, COUNT * sizeof *device));
    OK(cudaMemset(device, 0, COUNT * sizeof *device));
    library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != NULL, 1);
    int (*add)(unsigned *, unsigned, unsigned *) = (int (*)(unsigned *, unsigned, unsigned *))dlsym(library, "add");
    for (unsigned launch = 0; launch < 3; ++launch)
        OK(add(device, COUNT, &before));
    OK(cudaMemcpy(&last, device + COUNT - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("%u %u\n", before, last);
    return 0;
}
