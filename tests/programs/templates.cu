// Class templates, functors and lambdas in kernels, variadic kernels, matrix products of several types.
#include "check.h"

#include <type_traits>

template <class T, int Size>
struct Matrix {
    T at[Size][Size];

    __host__ __device__ Matrix operator*(const Matrix &other) const {
        Matrix product;
        for (int i = 0; i < Size; ++i)
            for (int j = 0; j < Size; ++j) {
                T sum = T();
                for (int k = 0; k < Size; ++k) sum += at[i][k] * other.at[k][j];
                product.at[i][j] = sum;
            }
        return product;
    }
};

template <class T, int Size>
__global__ void multiply(const Matrix<T, Size> *a, const Matrix<T, Size> *b, Matrix<T, Size> *c, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = a[i] * b[i];
}

struct Complex {
    double re, im;
    __host__ __device__ Complex(double re = 0, double im = 0) : re(re), im(im) {}
    __host__ __device__ Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    __host__ __device__ Complex &operator+=(Complex o) {
        re += o.re, im += o.im;
        return *this;
    }
};

// `Word` is what a matrix element consists of.
template <class T, int Size, class Word>
void check_product(const char *what, Word low, Word high, double tolerance) {
    const int count = 150;
    const size_t words = count * sizeof(Matrix<T, Size>) / sizeof(Word);
    std::vector<Word> a = random_values<Word>(words, low, high, 1), b = random_values<Word>(words, low, high, 2);
    std::vector<Matrix<T, Size>> wanted(count);
    for (int i = 0; i < count; ++i) wanted[i] = ((Matrix<T, Size> *)a.data())[i] * ((Matrix<T, Size> *)b.data())[i];
    DeviceArray<Word> device_a(a), device_b(b), device_c(words);
    multiply<<<2, 96>>>((Matrix<T, Size> *)device_a.get(), (Matrix<T, Size> *)device_b.get(), (Matrix<T, Size> *)device_c.get(), count);
    CHECK_KERNEL();
    compare(what, device_c.download().data(), (const Word *)wanted.data(), words, tolerance);
}

template <class Function>
__global__ void transform(const float *in, float *out, int count, Function function) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = function(in[i]);
}

struct Polynomial {
    float coefficients[4];
    __host__ __device__ float operator()(float x) const {
        float sum = 0;
        for (float coefficient : coefficients) sum = sum * x + coefficient;
        return sum;
    }
};

template <class First, class Second>
struct Compose {
    First first;
    Second second;
    __host__ __device__ float operator()(float x) const { return second(first(x)); }
};

template <class... Values>
__global__ void sum_of(double *out, Values... values) { *out = (double(values) + ...); }

template <class T>
__global__ void by_kind(T *out) {
    auto twice = [](T x) { return x + x; };
    if constexpr (std::is_floating_point_v<T>) *out = twice(T(0.75));
    else *out = twice(sizeof(T));
}

int main() {
    check_product<float, 4, float>("float", -1, 1, 1e-6);
    check_product<double, 5, double>("double", -1, 1, 1e-14);
    check_product<int, 3, int>("int", -1000, 1000, 0);
    check_product<long long, 2, long long>("long long", -1000000000, 1000000000, 0);
    check_product<unsigned char, 8, unsigned char>("unsigned char", 0, 255, 0);
    check_product<Complex, 3, double>("complex", -1, 1, 1e-14);

    const int count = 700;
    std::vector<float> values = random_values<float>(count, -2, 2), wanted(count);
    Compose<Polynomial, Polynomial> function = {{{0.5f, -1, 2, 0.25f}}, {{0, 0.125f, 1, 3}}};
    for (int i = 0; i < count; ++i) wanted[i] = function(values[i]);
    DeviceArray<float> in(values), out(count);
    transform<<<6, 128>>>(in.get(), out.get(), count, function);
    CHECK_KERNEL();
    compare("functor", out.download(), wanted, 1e-5);

    DeviceArray<double> sum(1);
    sum_of<<<1, 1>>>(sum.get(), 1, 2.5f, 'a', 40000000000ll, (unsigned char)200, -0.25, short(-7), true);
    CHECK_KERNEL();
    EXPECT(sum.download()[0] == 1 + 2.5 + 'a' + 4e10 + 200 - 0.25 - 7 + 1);

    DeviceArray<float> single(1);
    DeviceArray<short> small(1);
    by_kind<<<1, 1>>>(single.get());
    by_kind<<<1, 1>>>(small.get());
    CHECK_KERNEL();
    EXPECT(single.download()[0] == 1.5f && small.download()[0] == 4);
    return finish();
}
