// Gravity between all pairs of `nbody [bodies]`, with tiles in shared memory, followed by one time step.
#include "check.h"
#include "native.h"
#include "time_native.h"

constexpr int tile_size = 128;

__global__ void nbody(int count, const float4 *bodies, float4 *accelerations) {
    __shared__ float4 tile[tile_size];
    int i = blockIdx.x * tile_size + threadIdx.x;
    float4 own = i < count ? bodies[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int first = 0; first < count; first += tile_size) {
        int j = first + threadIdx.x;
        tile[threadIdx.x] = j < count ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < tile_size; ++k) {
            float4 other = tile[k];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = other.w * inverse * inverse * inverse;
            ax += dx * pull, ay += dy * pull, az += dz * pull;
        }
        __syncthreads();
    }
    if (i < count) accelerations[i] = make_float4(ax, ay, az, 0);
}

__global__ void move(int count, float4 *bodies, float4 *velocities, const float4 *accelerations, float step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    velocities[i].x += accelerations[i].x * step;
    velocities[i].y += accelerations[i].y * step;
    velocities[i].z += accelerations[i].z * step;
    bodies[i].x += velocities[i].x * step;
    bodies[i].y += velocities[i].y * step;
    bodies[i].z += velocities[i].z * step;
}

int main(int argc, char **argv) {
    const int count = size_argument(argc, argv, 1000);
    const float step = 0.001f;
    std::vector<float> numbers = random_values<float>(4 * count, -1, 1);
    for (int i = 3; i < 4 * count; i += 4) numbers[i] = numbers[i] * numbers[i] / count;
    const Body *bodies = (const Body *)numbers.data();

    DeviceArray<float> device_bodies(numbers), velocities(4 * count), device_accelerations(4 * count);
    velocities.fill(0);
    int blocks = (count + tile_size - 1) / tile_size;
    nbody<<<blocks, tile_size>>>(count, (float4 *)device_bodies.get(), (float4 *)device_accelerations.get());
    move<<<blocks, tile_size>>>(count, (float4 *)device_bodies.get(), (float4 *)velocities.get(),
                                (float4 *)device_accelerations.get(), step);
    CHECK_KERNEL();

    std::vector<float> accelerations(4 * count), moved = numbers;
    accelerations_native(count, bodies, (Body *)accelerations.data());
    for (int i = 0; i < 4 * count; ++i) moved[i] += accelerations[i] * step * step;
    compare("accelerations", device_accelerations.download(), accelerations, 1e-4);
    compare("positions", device_bodies.download(), moved, 1e-6);
    if (wants_native(argc, argv))
        time_native("nbody", [&] { accelerations_native(count, bodies, (Body *)accelerations.data()); });
    return finish();
}
