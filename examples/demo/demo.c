/* A CUDA program in plain C: what nvcc makes of a .cu file, written by hand.
 *
 * It registers a fat binary that holds kernels.ptx, launches its two kernels through the CUDA runtime, draws the
 * Mandelbrot set and checks every point and the sum against the host's own computation. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The part of the CUDA runtime API that the demo uses. */
typedef struct { unsigned x, y, z; } dim3;
typedef void *cudaStream_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemset(void *pointer, int value, size_t count);
int cudaMemcpy(void *target, const void *source, size_t count, int kind);
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream);
int cudaDeviceSynchronize(void);
const char *cudaGetErrorString(int error);
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *block_size, void *grid_size, int *warp_size);
void __cudaUnregisterFatBinary(void **handle);

/* A fat binary: a container (16 bytes) with one entry (64 bytes) of PTX text, padded to 8 bytes. */
__asm__(".section .nv_fatbin,\"a\"\n"
        ".balign 8\n"
        "fat_binary:\n"
        ".long 0xba55ed50\n"                                /* magic */
        ".short 1, 16\n"                                    /* version, size of this header */
        ".quad fat_binary_end - fat_binary_entry\n"         /* size of the entries */
        "fat_binary_entry:\n"
        ".short 1, 0x0101\n"                                /* PTX */
        ".long 64\n"                                        /* size of this header */
        ".quad fat_binary_end - fat_binary_text\n"          /* size of the text */
        ".long 0, 0\n"                                      /* not compressed */
        ".short 5, 9\n"                                     /* PTX ISA 9.5 */
        ".long 75\n"                                        /* compute_75 */
        ".long 0, 0\n"                                      /* no file name */
        ".quad 0x11, 0, 0\n"                                /* 64 bit, Linux */
        "fat_binary_text:\n"
        ".incbin \"" PTX_FILE "\"\n"
        ".byte 0\n"
        ".balign 8\n"
        "fat_binary_end:\n"
        ".previous\n");
extern const char fat_binary[];

static struct {
    uint32_t magic, version;
    const void *data;
    void *unused;
} wrapper __attribute__((section(".nvFatBinSegment"))) = {0x466243b1, 1, fat_binary, 0};

/* nvcc makes a stub for each kernel; its address stands for the kernel. */
static void check(int error, const char *what);

static void mandelbrot(int *steps, int width, int height, int limit)
{
    void *arguments[] = {&steps, &width, &height, &limit};
    dim3 block = {32, 8, 1}, grid = {(width + 31) / 32, (height + 7) / 8, 1};
    check(cudaLaunchKernel((const void *)mandelbrot, grid, block, arguments, 0, 0), "mandelbrot<<<>>>");
}

static void sum(const int *values, int count, unsigned *total)
{
    void *arguments[] = {&values, &count, &total};
    dim3 block = {256, 1, 1}, grid = {16, 1, 1};
    check(cudaLaunchKernel((const void *)sum, grid, block, arguments, 0, 0), "sum<<<>>>");
}

static void **handle;

static void unregister_kernels(void)
{
    __cudaUnregisterFatBinary(handle);
}

__attribute__((constructor)) static void register_kernels(void)
{
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)mandelbrot, "mandelbrot", "mandelbrot", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (const char *)sum, "sum", "sum", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(unregister_kernels);
}

static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

enum { width = 640, height = 480, limit = 256, column = 8, row = 16 };

/* The same computation on the host. */
static int expected_steps(int x, int y)
{
    float cx = -2.2f + 3.2f * x / width, cy = -1.2f + 2.4f * y / height;
    float zx = 0.0f, zy = 0.0f;
    int step = 0;
    while (step < limit && zx * zx + zy * zy <= 4.0f) {
        float next = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = next;
        ++step;
    }
    return step;
}

int main(void)
{
    static int steps[width * height];
    int *device_steps;
    unsigned *device_total, total, expected_total = 0;
    int wrong = 0;

    check(cudaMalloc((void **)&device_steps, sizeof steps), "cudaMalloc");
    check(cudaMalloc((void **)&device_total, sizeof total), "cudaMalloc");
    check(cudaMemset(device_total, 0, sizeof total), "cudaMemset");
    mandelbrot(device_steps, width, height, limit);
    sum(device_steps, width * height, device_total);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(steps, device_steps, sizeof steps, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(&total, device_total, sizeof total, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaFree(device_steps), "cudaFree");
    check(cudaFree(device_total), "cudaFree");

    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            int step = steps[y * width + x], expected = expected_steps(x, y);
            expected_total += expected;
            wrong += step != expected;
            if (x % column == 0 && y % row == 0)
                putchar(" .:-=+*#%@"[step == limit ? 9 : step > 36 ? 8 : step / 4 * 8 / 9]);
        }
        if (y % row == 0)
            putchar('\n');
    }
    printf("%d of %d points wrong; sum %u, expected %u\n", wrong, width * height, total, expected_total);
    return wrong != 0 || total != expected_total;
}
