/* Prints the devices that both APIs and NVML show: count, buses, UUIDs. */
#include "../c/cuda_api.h"
#include <dlfcn.h>

extern int cuDeviceGetCount(int *), cuDeviceGetPCIBusId(char *, int, int), cuDeviceGetUuid(unsigned char *, int), cuDeviceCanAccessPeer(int *, int, int);
extern int cuDeviceGetByPCIBusId(int *, const char *), cudaDeviceGetPCIBusId(char *, int, int), cudaDeviceCanAccessPeer(int *, int, int);
extern int cudaDriverGetVersion(int *), cudaGetDevice(int *);

int main(void)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW), *memory;
    int (*nvml_count)(unsigned *) = (int (*)(unsigned *))dlsym(nvml, "nvmlDeviceGetCount_v2");
    int count = -1, code, number = -1, reached = 0;
    unsigned all = 0;

    ((int (*)(void))dlsym(nvml, "nvmlInit_v2"))();
    nvml_count(&all);
    code = cudaGetDeviceCount(&count);
    printf("%d %d of %u:", code, count, all);
    if (code) {
        OK(cudaDriverGetVersion(&number));
        EXPECT(cudaMalloc(&memory, 4), code);
        EXPECT(cudaSetDevice(0), code);
        EXPECT(cudaGetDevice(&number), code);
        EXPECT(cuInit(0), code);
        EXPECT(cuDeviceGetCount(&number), cudaErrorInitializationError);
    }
    for (int device = 0; device < count; device++) {
        char bus[32], again[32];
        unsigned char uuid[16];

        OK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
        OK(cuInit(0));
        OK(cuDeviceGetPCIBusId(again, sizeof again, device));
        EXPECT(strcmp(bus, again), 0);
        OK(cuDeviceGetByPCIBusId(&number, bus));
        EXPECT(number, device);
        OK(cuDeviceGetUuid(uuid, device));
        OK(cudaSetDevice(device));
        OK(cudaMalloc(&memory, 256));
        OK(cudaFree(memory));
        printf(" %s-%02x", bus, uuid[15]);
        if (device) {
            OK(cudaDeviceCanAccessPeer(&reached, 0, device));
            EXPECT(reached, 1);
        }
    }
    if (count >= 0)
        EXPECT(cudaSetDevice(count), count ? cudaErrorInvalidDevice : code);
    printf("\n");
    return 0;
}
