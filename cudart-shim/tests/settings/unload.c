/* Unloads a library that waits for the device in a destructor: its first argument. It has launched a kernel before, if there
 * is a second one. An alarm ends a wait without end. */
#include "../c/cuda_api.h"
#include <dlfcn.h>
#include <unistd.h>

enum { COUNT = 100000 };

int main(int count, char **arguments)
{
    unsigned *device, last;
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    int (*add)(unsigned *, unsigned, int) = (int (*)(unsigned *, unsigned, int))dlsym(library, "add");

    alarm(60);
    OK(cudaMalloc((void **)&device, COUNT * sizeof *device));
    OK(cudaMemset(device, 0, COUNT * sizeof *device));
    OK(add(device, COUNT, count > 2));
    OK(dlclose(library));
    OK(cudaMemcpy(&last, device + COUNT - 1, sizeof last, cudaMemcpyDeviceToHost));
    EXPECT(last, count > 2 ? 2 : 1);
    return 0;
}
