/* Calls functions of a library that launch a kernel which is refused: program library function what, where `what` says how
 * the program asks for the error. Always ends with 0. */
#define _GNU_SOURCE
#include "../c/cuda_api.h"
#include <dlfcn.h>

int main(int count, char **arguments)
{
    void *library = dlopen(arguments[1], RTLD_NOW);
    int (*function)(void) = library ? (int (*)(void))dlsym(library, arguments[2]) : NULL;
    const char *what = count > 3 ? arguments[3] : "";

    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int error = function();
    if (!strcmp(what, "last")) printf("%d\n", cudaGetLastError());
    if (!strcmp(what, "text")) puts(cudaGetErrorString(error));
    if (!strcmp(what, "synchronise")) printf("%d\n", cudaDeviceSynchronize());
    return 0;
}
