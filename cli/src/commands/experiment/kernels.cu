// The kernels of the experiments. kernels.ptx is made from this file:
//   nvcc -ptx -O3 -std=c++17 -arch=compute_75 kernels.cu

// Khairy et al., Fig. 4: lanes in groups of `stride` share a line.
extern "C" __global__ void strided(const float *a, float *c, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned element = i / stride * 32 + i % stride;
    c[element] = a[element];
}

// Khairy et al., Fig. 5, a step a launch.
extern "C" __global__ void write_word(float *c, unsigned i) { c[i] = 1.0f; }

extern "C" __global__ void read_word(const float *c, unsigned i, float *out) {
    float value;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(c + i));
    if (value != 1.0f) *out = value;
}

// STREAM's triad, with the loads through L1 and past it.
extern "C" __global__ void triad(const float *b, const float *c, float *a, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        float x, y;
        asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(x) : "l"(b + i));
        asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(y) : "l"(c + i));
        a[i] = x + 3.0f * y;
    }
}

extern "C" __global__ void triad_past_l1(const float *b, const float *c, float *a, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        float x, y;
        asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(b + i));
        asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(y) : "l"(c + i));
        a[i] = x + 3.0f * y;
    }
}

// Words at random places. `count` is a power of two.
extern "C" __global__ void gather(const float *b, const float *c, float *a, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash = i * 2654435761u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    hash ^= hash >> 13;
    a[i] = b[hash & (count - 1)] + c[hash >> 7 & (count - 1)];
}

// Rows become columns; a row has 1024 elements.
extern "C" __global__ void transpose(const float *b, const float *c, float *a, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, rows = count / 1024;
    a[(i % 1024) * rows + i / 1024] = b[i];
}

// Each thread adds up 32 consecutive words of its own.
extern "C" __global__ void rows(const float *b, const float *c, float *a, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count / 32) return;
    float sum = 0;
    for (unsigned column = 0; column < 32; ++column) sum += b[i * 32 + column];
    a[i] = sum;
}

// Five points of a plane whose rows have 1024 elements.
extern "C" __global__ void stencil(const float *b, const float *c, float *a, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1024 || i >= count - 1024) return;
    a[i] = 0.5f * b[i] + 0.125f * (b[i - 1] + b[i + 1] + b[i - 1024] + b[i + 1024]);
}

// Products of square matrices in tiles of 16 x 16; of 16 x 16 threads in a row.
extern "C" __global__ void multiply(const float *b, const float *c, float *a, unsigned count) {
    constexpr unsigned SIZE = 256;
    __shared__ float left[16][16], right[16][16];
    unsigned x = threadIdx.x % 16, y = threadIdx.x / 16, tiles = SIZE / 16;
    unsigned row = blockIdx.x / tiles * 16 + y, column = blockIdx.x % tiles * 16 + x;
    float sum = 0;
    for (unsigned tile = 0; tile < tiles; ++tile) {
        left[y][x] = b[row * SIZE + tile * 16 + x];
        right[y][x] = c[(tile * 16 + y) * SIZE + column];
        __syncthreads();
        for (unsigned k = 0; k < 16; ++k) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    a[row * SIZE + column] = sum;
}

// More code than the first instruction caches hold, and nothing else to wait for.
extern "C" __global__ void long_code(const float *b, const float *c, float *a, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = b[i], y = c[i];
    for (unsigned round = 0; round < 4; ++round) {
#pragma unroll
        for (unsigned step = 0; step < 768; ++step) {
            x = x * y + float(step);
            y = y * x + float(step + 1);
        }
    }
    a[i] = x + y;
}
