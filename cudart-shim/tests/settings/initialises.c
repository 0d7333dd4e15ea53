/* Calls each function of the runtime as its line of the API table says. The table `calls` comes before this text. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long word;
typedef int (*call)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word);

int cudaDeviceReset(void);
int cuDevicePrimaryCtxGetState(int, unsigned *, int *);

int main(void)
{
    int failures = 0, count = sizeof lines / sizeof *lines;

    for (int index = 0; index < count; index++) {
        call function = (call)dlsym(RTLD_DEFAULT, lines[index].name);
        unsigned flags;
        int before, after;

        if (!function)
            abort();
        if (cudaDeviceReset() || cuDevicePrimaryCtxGetState(0, &flags, &before))
            return 1;
        function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        if (cuDevicePrimaryCtxGetState(0, &flags, &after))
            return 1;
        if (before || after != (strcmp(lines[index].need, "initialises") == 0)) {
            fprintf(stderr, "%s (%s): the primary context is %s\n", lines[index].name, lines[index].need, after ? "active" : "not active");
            failures++;
        }
    }
    printf("%d calls\n", count);
    return failures != 0;
}
