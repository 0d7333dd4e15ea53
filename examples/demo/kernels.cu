// Kernels of the demo. kernels.ptx is compiled from this file:
//   nvcc -ptx -O3 -fmad=false -arch=compute_75 kernels.cu
// (-fmad=false, so that the host's C gives the same bits.)

// Counts for each point of the picture the steps until z*z + c leaves the circle of radius 2.
extern "C" __global__ void mandelbrot(int* steps, int width, int height, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float cx = -2.2f + 3.2f * x / width;
    float cy = -1.2f + 2.4f * y / height;
    float zx = 0.0f, zy = 0.0f;
    int step = 0;
    while (step < limit && zx * zx + zy * zy <= 4.0f) {
        float next = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = next;
        ++step;
    }
    steps[y * width + x] = step;
}

// Sums all values: within a CTA in shared memory, across CTAs with one atomic each.
extern "C" __global__ void sum(const int* values, int count, unsigned* total)
{
    __shared__ unsigned partial[256];
    unsigned own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        own += values[i];
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, partial[0]);
}
