// A product of half-precision matrices by the WMMA kernel of CUTLASS 1.3, as the kernels `cutlass_k1`
// to `cutlass_k3` of gv100-power.csv. Arguments: rows of A, columns of B, columns of A.
//
//   nvcc -O3 -std=c++17 -cudart shared -gencode arch=compute_75,code=compute_75 \
//        -I CUTLASS -o cutlass cutlass_wmma.cu

#include <cstdio>
#include <cstdlib>

#include "cutlass/gemm/gemm.h"
#include "cutlass/gemm/wmma_gemm_traits.h"

using cutlass::MatrixLayout;

typedef cutlass::gemm::WmmaGemmTraits<MatrixLayout::kColumnMajor, MatrixLayout::kColumnMajor> Traits;
typedef cutlass::gemm::Gemm<Traits> Gemm;

static void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::printf("%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        std::printf("usage: %s ROWS COLUMNS INNER\n", arguments[0]);
        return 2;
    }
    int const m = std::atoi(arguments[1]), n = std::atoi(arguments[2]), k = std::atoi(arguments[3]);
    half *a, *b;
    float *d;
    size_t const of_a = sizeof(half) * m * k, of_b = sizeof(half) * n * k, of_d = sizeof(float) * m * n;
    check(cudaMalloc(&a, of_a));
    check(cudaMalloc(&b, of_b));
    check(cudaMalloc(&d, of_d));
    check(cudaMemset(a, 0x3c, of_a));
    check(cudaMemset(b, 0x3c, of_b));
    check(cudaMemset(d, 0, of_d));
    Gemm::Params parameters;
    if (parameters.initialize(m, n, k, 1.0f, a, m, b, k, 0.0f, d, m, d, m) != 0) {
        std::printf("CUTLASS refuses the sizes\n");
        return 1;
    }
    for (int launch = 0; launch < 2; ++launch) {
        check(Gemm::launch(parameters));
    }
    check(cudaDeviceSynchronize());
    std::printf("PASS\n");
}
