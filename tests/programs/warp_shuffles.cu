// All four shuffles with every width, on 32-bit, 64-bit and floating-point values.
#include "check.h"

constexpr unsigned full = 0xffffffff;

template <class T>
__global__ void shuffle(const T *values, T *out, int width) {
    int lane = threadIdx.x;
    T value = values[lane];
    T *mine = out + lane * 8;
    mine[0] = __shfl_sync(full, value, 3, width);
    mine[1] = __shfl_sync(full, value, lane * 7 + 1, width);
    mine[2] = __shfl_up_sync(full, value, 1, width);
    mine[3] = __shfl_up_sync(full, value, 5, width);
    mine[4] = __shfl_down_sync(full, value, 2, width);
    mine[5] = __shfl_down_sync(full, value, 31, width);
    mine[6] = __shfl_xor_sync(full, value, 1, width);
    mine[7] = __shfl_xor_sync(full, value, 12, width);
}

template <class T>
void check_shuffles(const char *what, std::vector<T> values) {
    DeviceArray<T> in(values), out(32 * 8);
    for (int width = 1; width <= 32; width *= 2) {
        shuffle<<<1, 32>>>(in.get(), out.get(), width);
        CHECK_KERNEL();
        std::vector<T> wanted(32 * 8);
        for (int lane = 0; lane < 32; ++lane) {
            int base = lane / width * width, own = lane % width;
            // With a source outside of the group, the lane keeps its own value.
            auto inside = [&](int source) { return source >= 0 && source < width ? values[base + source] : values[lane]; };
            T *mine = &wanted[lane * 8];
            mine[0] = values[base + 3 % width];
            mine[1] = values[base + (lane * 7 + 1) % width];
            mine[2] = inside(own - 1);
            mine[3] = inside(own - 5);
            mine[4] = inside(own + 2);
            mine[5] = inside(own + 31);
            // xor may access an earlier group but not a later one.
            for (int k = 6; k < 8; ++k) {
                int source = lane ^ (k == 6 ? 1 : 12);
                mine[k] = source < base + width ? values[source] : values[lane];
            }
        }
        compare(what, out.download(), wanted);
    }
}

// An inclusive scan within each warp, and a sum over a subset of lanes.
__global__ void scan_warps(const int *values, int *prefix, int *odd_sum) {
    int lane = threadIdx.x % 32, sum = values[threadIdx.x];
    for (int offset = 1; offset < 32; offset *= 2) {
        int before = __shfl_up_sync(full, sum, offset);
        if (lane >= offset) sum += before;
    }
    prefix[threadIdx.x] = sum;
    if (lane % 2) {
        int odd = values[threadIdx.x];
        for (int offset = 16; offset > 1; offset /= 2) odd += __shfl_xor_sync(0xaaaaaaaa, odd, offset);
        odd_sum[threadIdx.x] = odd;
    }
}

int main() {
    check_shuffles("int", random_values<int>(32, -1000, 1000));
    check_shuffles("long long", random_values<long long>(32, -1000000000000000, 1000000000000000));
    check_shuffles("float", random_values<float>(32, -1, 1));
    check_shuffles("double", random_values<double>(32, -1, 1));

    const int count = 96;
    std::vector<int> values = random_values<int>(count, -99, 99), prefix(count), odd(count);
    for (int i = 0; i < count; ++i) {
        prefix[i] = values[i] + (i % 32 ? prefix[i - 1] : 0);
        for (int j = i / 32 * 32 + 1; j < i / 32 * 32 + 32; j += 2) odd[i] += i % 2 ? values[j] : 0;
    }
    DeviceArray<int> in(values), device_prefix(count), device_odd(count);
    device_odd.fill(0);
    scan_warps<<<1, count>>>(in, device_prefix, device_odd);
    CHECK_KERNEL();
    compare("scan", device_prefix.download(), prefix);
    compare("odd lanes", device_odd.download(), odd);
    return finish();
}
