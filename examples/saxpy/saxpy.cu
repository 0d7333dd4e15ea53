// y = a x + y over `saxpy [count]` elements.
#include "check.h"
#include "time_native.h"
#include "native.h"

__global__ void saxpy(int count, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv) {
    const int count = size_argument(argc, argv, 1 << 20);
    const float a = 2.5f;
    std::vector<float> x = random_values<float>(count, -1, 1, 1);
    std::vector<float> y = random_values<float>(count, -1, 1, 2);
    DeviceArray<float> device_x(x), device_y(y);

    saxpy<<<(count + 255) / 256, 256>>>(count, a, device_x, device_y);
    CHECK_KERNEL();

    std::vector<float> wanted = y;
    saxpy_native(count, a, x.data(), wanted.data());
    // The device rounds once (fma), while the host compiler may round twice.
    compare("y", device_y.download(), wanted, 1e-6);
    if (wants_native(argc, argv)) time_native("saxpy", [&] { saxpy_native(count, a, x.data(), y.data()); });
    return finish();
}
