/* A library with device code is loaded and unloaded again and again: each time its code is there and new, work that was
 * under way ends, and no memory is left behind. */
#include "cuda_api.h"
#include <dlfcn.h>

enum { COUNT = 100000, ROUNDS = 300 };

int main(int count, char **arguments)
{
    unsigned *device, before, last;
    size_t at_first = 0, free_bytes, total;

    EXPECT(count, 2);
    OK(cudaMalloc((void **)&device, COUNT * sizeof *device));
    OK(cudaMemset(device, 0, COUNT * sizeof *device));
    for (unsigned round = 1; round <= ROUNDS; ++round) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        EXPECT(library != NULL, 1);
        int (*add)(unsigned *, unsigned, unsigned *) = (int (*)(unsigned *, unsigned, unsigned *))dlsym(library, "add");
        OK(add(device, COUNT, &before));
        EXPECT(before, 7);
        OK(dlclose(library));
        OK(cudaMemcpy(&last, device + COUNT - 1, sizeof last, cudaMemcpyDeviceToHost));
        EXPECT(last, round);
        OK(cudaMemGetInfo(&free_bytes, &total));
        if (round == 1)
            at_first = free_bytes;
        EXPECT(free_bytes, at_first);
    }
    return 0;
}
