/* Launches a kernel of a PTX file twice through the driver API. Arguments: PTX, kernel, grid (3),
 * block (3), bytes of dynamic shared memory, then kernel arguments in order and constants:
 *
 *   buffer:N          an array of N floats in device memory, filled by a fixed formula
 *   int:V             an integer
 *   constant:NAME:N   fills the first N floats of a variable of the module; no kernel argument */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef void *Handle;
typedef unsigned long long Address;

extern Result cuInit(unsigned);
extern Result cuDeviceGet(int *, int);
extern Result cuCtxCreate_v2(Handle *, unsigned, int);
extern Result cuModuleLoadData(Handle *, const void *);
extern Result cuModuleGetFunction(Handle *, Handle, const char *);
extern Result cuModuleGetGlobal_v2(Address *, size_t *, Handle, const char *);
extern Result cuMemAlloc_v2(Address *, size_t);
extern Result cuMemcpyHtoD_v2(Address, const void *, size_t);
extern Result cuCtxSynchronize(void);
extern Result cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
                             void **, void **);

#define MOST 32

static void check(Result result, const char *call)
{
    if (result != 0) {
        fprintf(stderr, "%s: CUDA error %d\n", call, result);
        exit(1);
    }
}
#define OK(call) check((call), #call)

static char *text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *bytes = calloc((size_t)size + 1, 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

/* Copies numbers from -0.5 to 0.5 to the device (Numerical Recipes' linear congruential generator). */
static void fill(Address address, size_t count)
{
    float *numbers = malloc(count * sizeof *numbers);
    unsigned state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    OK(cuMemcpyHtoD_v2(address, numbers, count * sizeof *numbers));
    free(numbers);
}

int main(int count, char **words)
{
    static Address values[MOST];
    void *arguments[MOST];
    unsigned sizes[7];
    int device, used = 0;
    Handle context, module, kernel;

    if (count < 10)
        return 2;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate_v2(&context, 0, device));
    OK(cuModuleLoadData(&module, text(words[1])));
    OK(cuModuleGetFunction(&kernel, module, words[2]));
    for (int i = 0; i < 7; i++)
        sizes[i] = (unsigned)strtoul(words[3 + i], NULL, 10);
    for (int i = 10; i < count && used < MOST; i++) {
        char *value = strchr(words[i], ':');
        if (value == NULL)
            return 2;
        *value++ = 0;
        if (strcmp(words[i], "buffer") == 0) {
            const size_t floats = strtoull(value, NULL, 10);
            OK(cuMemAlloc_v2(&values[used], floats * sizeof(float)));
            fill(values[used], floats);
        } else if (strcmp(words[i], "int") == 0) {
            const int number = atoi(value);
            memcpy(&values[used], &number, sizeof number);
        } else {
            char *floats = strchr(value, ':');
            Address address;
            size_t bytes;
            if (floats == NULL)
                return 2;
            *floats++ = 0;
            OK(cuModuleGetGlobal_v2(&address, &bytes, module, value));
            const size_t asked = strtoull(floats, NULL, 10), most = bytes / sizeof(float);
            fill(address, asked < most ? asked : most);
            continue;
        }
        arguments[used] = &values[used];
        used++;
    }
    for (int i = 0; i < 2; i++) {
        OK(cuLaunchKernel(kernel, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6], NULL,
                          arguments, NULL));
        OK(cuCtxSynchronize());
    }
    return 0;
}
