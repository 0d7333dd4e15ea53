// wmma against the host: products of all shapes of the warp-level functions, tile by
// tile, in half and single precision and integers. Also mma and ldmatrix by inline PTX.
#include "check.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// D = A * B + C, A by rows, B by columns, a warp per tile of D; A and B pass through shared memory.
template <int M, int N, int K, class Element, class Sum>
__global__ void multiply(const Element *a, const Element *b, const Sum *c, Sum *d, int columns, int depth) {
    __shared__ alignas(32) Element tile_a[M * K], tile_b[K * N];
    int row = blockIdx.y * M, column = blockIdx.x * N;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(sum, c + row * columns + column, columns, wmma::mem_row_major);
    for (int k = 0; k < depth; k += K) {
        for (int i = threadIdx.x; i < M * K; i += 32) tile_a[i] = a[(row + i / K) * depth + k + i % K];
        for (int i = threadIdx.x; i < K * N; i += 32) tile_b[i] = b[(column + i / K) * depth + k + i % K];
        __syncwarp();
        wmma::fragment<wmma::matrix_a, M, N, K, Element, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, M, N, K, Element, wmma::col_major> right;
        wmma::load_matrix_sync(left, tile_a, K);
        wmma::load_matrix_sync(right, tile_b, K);
        wmma::mma_sync(sum, left, right, sum);
        __syncwarp();
    }
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
    wmma::store_matrix_sync(d + row * columns + column, sum, columns, wmma::mem_row_major);
}

template <int M, int N, int K, class Element, class Sum>
static void test(const char *what, int range) {
    const int rows = 2 * M, columns = 3 * N, depth = 4 * K;
    std::vector<int> numbers = random_values<int>(rows * depth + depth * columns + rows * columns, 0, range);
    auto next = numbers.begin();
    std::vector<Element> a(rows * depth), b(depth * columns);
    std::vector<Sum> c(rows * columns), wanted(rows * columns);
    for (Element &x : a) x = Element(float(*next++));
    for (Element &x : b) x = Element(float(*next++));
    for (Sum &x : c) x = Sum(float(*next++));
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            float sum = float(c[i * columns + j]);
            for (int k = 0; k < depth; ++k) sum += float(a[i * depth + k]) * float(b[j * depth + k]);
            wanted[i * columns + j] = Sum(2 * sum);
        }
    DeviceArray<Element> device_a(a), device_b(b);
    DeviceArray<Sum> device_c(c), device_d(rows * columns);
    multiply<M, N, K, Element, Sum>
        <<<dim3(columns / N, rows / M), 32>>>(device_a, device_b, device_c, device_d, columns, depth);
    CHECK_KERNEL();
    std::vector<Sum> got = device_d.download();
    std::vector<float> got_numbers(got.begin(), got.end()), wanted_numbers(wanted.begin(), wanted.end());
    compare(what, got_numbers, wanted_numbers);
}

// One product of 16 by 8 by 8: A and B by ldmatrix, the fragments in the manual's order.
__global__ void by_hand(const __half *a, const __half *b, float *d) {
    __shared__ alignas(16) __half rows[24 * 8];
    int lane = threadIdx.x;
    for (int i = lane; i < 128; i += 32) rows[i] = a[i];
    for (int i = lane; i < 64; i += 32) rows[128 + i] = b[i];
    __syncwarp();
    unsigned at = unsigned(__cvta_generic_to_shared(rows + 8 * (lane % 16)));
    unsigned at_b = unsigned(__cvta_generic_to_shared(rows + 128 + 8 * (lane % 8)));
    unsigned left[2], right;
    float sum[4] = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(left[0]), "=r"(left[1]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(right) : "r"(at_b));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(left[0]), "r"(left[1]), "r"(right));
    for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

static void test_by_hand() {
    std::vector<int> numbers = random_values<int>(192, 0, 20);
    std::vector<__half> a(128), b(64);
    for (int i = 0; i < 128; ++i) a[i] = __half(float(numbers[i] - 10));
    for (int i = 0; i < 64; ++i) b[i] = __half(float(numbers[128 + i] - 10));
    std::vector<float> wanted(128);
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j)
            for (int k = 0; k < 8; ++k) wanted[8 * i + j] += float(a[8 * i + k]) * float(b[8 * k + j]);
    DeviceArray<__half> device_a(a), device_b(b);
    DeviceArray<float> d(128);
    by_hand<<<1, 32>>>(device_a, device_b, d);
    CHECK_KERNEL();
    compare("by hand", d.download(), wanted);
}

int main() {
    test<16, 16, 16, __half, float>("m16n16k16, single precision", 8);
    test<8, 32, 16, __half, float>("m8n32k16, single precision", 8);
    test<32, 8, 16, __half, __half>("m32n8k16, half precision", 3);
    test<16, 16, 16, __half, __half>("m16n16k16, half precision", 3);
    test<16, 16, 16, signed char, int>("m16n16k16, signed bytes", 100);
    test<8, 32, 16, unsigned char, int>("m8n32k16, unsigned bytes", 100);
    test<32, 8, 16, unsigned char, int>("m32n8k16, unsigned bytes", 100);
    test_by_hand();
    return finish();
}
