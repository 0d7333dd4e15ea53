// wmma in bfloat16, tf32, double precision, four-bit integers and single bits
// against the host. Also mma by inline PTX in bfloat16 and 8-bit floats.
//@ arch: compute_89
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <mma.h>

#include <cstdint>

using namespace nvcuda;

// D = A * B + C of one tile; A by columns and B by rows, unlike in matrix_products.
template <int M, int N, int K, class Fragment, class Element, class Sum>
__global__ void multiply(const Element *a, const Element *b, const Sum *c, Sum *d) {
    wmma::fragment<wmma::matrix_a, M, N, K, Fragment, wmma::col_major> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Fragment, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(left, a, M);
    wmma::load_matrix_sync(right, b, N);
    wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
    if constexpr (std::is_same_v<Fragment, wmma::precision::tf32>) {
        for (int i = 0; i < left.num_elements; ++i) left.x[i] = wmma::__float_to_tf32(left.x[i]);
        for (int i = 0; i < right.num_elements; ++i) right.x[i] = wmma::__float_to_tf32(right.x[i]);
    }
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, N, wmma::mem_row_major);
}

template <int M, int N, int K, class Fragment, class Element, class Sum>
static void test(const char *what, double step) {
    std::vector<int> numbers = random_values<int>(M * K + K * N + M * N, -20, 20);
    auto next = numbers.begin();
    std::vector<Element> a(M * K), b(K * N);
    std::vector<Sum> c(M * N), wanted(M * N);
    for (Element &x : a) x = Element(float(*next++ * step));
    for (Element &x : b) x = Element(float(*next++ * step));
    for (Sum &x : c) x = Sum(*next++ * step);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            double sum = c[i * N + j];
            for (int k = 0; k < K; ++k) sum += double(float(a[k * M + i])) * double(float(b[k * N + j]));
            wanted[i * N + j] = Sum(sum);
        }
    DeviceArray<Element> device_a(a), device_b(b);
    DeviceArray<Sum> device_c(c), device_d(M * N);
    multiply<M, N, K, Fragment, Element, Sum><<<1, 32>>>(device_a, device_b, device_c, device_d);
    CHECK_KERNEL();
    compare(what, device_d.download(), wanted);
}

// Elements of less than a byte, 8 or 32 per word.
template <class Fragment, int K, bool Xor = false>
__global__ void multiply_bits(const uint32_t *a, const uint32_t *b, int *d) {
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, K, Fragment, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, K, Fragment, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, K, int> sum;
    wmma::load_matrix_sync(left, a, K);
    wmma::load_matrix_sync(right, b, K);
    wmma::fill_fragment(sum, 5);
    if constexpr (K == 128)
        wmma::bmma_sync(sum, left, right, sum, Xor ? bmmaBitOpXOR : bmmaBitOpAND);
    else
        wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

template <class Kernel, class Product>
static void test_bits(const char *what, int words, Kernel kernel, Product product) {
    std::vector<uint32_t> a = random_values<uint32_t>(8 * words, 0, 0xffffffffu, 3), b = random_values<uint32_t>(8 * words, 0, 0xffffffffu, 4);
    std::vector<int> wanted(64, 5);
    for (int i = 0; i < 64; ++i)
        for (int k = 0; k < words; ++k) wanted[i] += product(a[i / 8 * words + k], b[i % 8 * words + k]);
    DeviceArray<uint32_t> device_a(a), device_b(b);
    DeviceArray<int> d(64);
    kernel<<<1, 32>>>(device_a, device_b, d);
    CHECK_KERNEL();
    compare(what, d.download(), wanted);
}

static int nibbles(uint32_t a, uint32_t b, bool is_signed) {
    int sum = 0;
    for (int shift = 0; shift < 32; shift += 4) {
        int x = a >> shift & 15, y = b >> shift & 15;
        if (is_signed) x = (x ^ 8) - 8, y = (y ^ 8) - 8;
        sum += x * y;
    }
    return sum;
}

// 16 by 8 products of rows of A and columns of B, each row or column of 32 bytes; fragments in the manual's order.
template <bool Bytes>
__global__ void by_hand(const uint32_t *a, const uint32_t *b, float *d) {
    int group = threadIdx.x / 4, place = threadIdx.x % 4;
    uint32_t left[4] = {a[group * 8 + place], a[(group + 8) * 8 + place], a[group * 8 + place + 4], a[(group + 8) * 8 + place + 4]};
    uint32_t right[2] = {b[group * 8 + place], b[group * 8 + place + 4]};
    float sum[4] = {1, 2, 3, 4};
    if constexpr (Bytes)
        asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + place * 2 + i % 2] = sum[i];
}

template <class Left, class Right, int K>
static void test_by_hand(const char *what) {
    std::vector<int> numbers = random_values<int>(24 * K, -8, 8);
    std::vector<Left> a(16 * K);
    std::vector<Right> b(8 * K);
    for (int i = 0; i < 16 * K; ++i) a[i] = Left(float(numbers[i]));
    for (int i = 0; i < 8 * K; ++i) b[i] = Right(float(numbers[16 * K + i]) / 4);
    std::vector<float> wanted(128);
    for (int i = 0; i < 128; ++i) {
        wanted[i] = float(i % 2 + i / 64 * 2 + 1);
        for (int k = 0; k < K; ++k) wanted[i] += float(a[i / 8 * K + k]) * float(b[i % 8 * K + k]);
    }
    DeviceArray<Left> device_a(a);
    DeviceArray<Right> device_b(b);
    DeviceArray<float> d(128);
    by_hand<sizeof(Left) == 1><<<1, 32>>>((const uint32_t *)device_a.get(), (const uint32_t *)device_b.get(), d);
    CHECK_KERNEL();
    compare(what, d.download(), wanted);
}

int main() {
    test<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>("bfloat16", 1);
    test<32, 8, 16, __nv_bfloat16, __nv_bfloat16, float>("bfloat16, 32 by 8", 0.5);
    test<16, 16, 8, wmma::precision::tf32, float, float>("tf32", 0.25);
    test<8, 8, 4, double, double, double>("double precision", 4096);
    using namespace wmma::experimental;
    test_bits("signed nibbles", 4, multiply_bits<precision::s4, 32>, [](uint32_t a, uint32_t b) { return nibbles(a, b, true); });
    test_bits("unsigned nibbles", 4, multiply_bits<precision::u4, 32>, [](uint32_t a, uint32_t b) { return nibbles(a, b, false); });
    test_bits("bits, exclusive or", 4, multiply_bits<precision::b1, 128, true>, [](uint32_t a, uint32_t b) { return __builtin_popcount(a ^ b); });
    test_bits("bits, and", 4, multiply_bits<precision::b1, 128>, [](uint32_t a, uint32_t b) { return __builtin_popcount(a & b); });
    test_by_hand<__nv_bfloat16, __nv_bfloat16, 16>("mma of bfloat16");
    test_by_hand<__nv_fp8_e4m3, __nv_fp8_e5m2, 32>("mma of 8 bits");
    return finish();
}
