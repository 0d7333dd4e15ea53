// Double-precision functions of the CUDA math library against the host's extended precision, within the errors that the
// CUDA C++ Programming Guide states; arithmetic in every rounding.
#include "check.h"

#include <algorithm>
#include <cfenv>

// Function, exact function, range of arguments, maximum error in units of the last place.
#define UNARY(X)                          \
    X(sin, sinl, -100, 100, 2)            \
    X(cos, cosl, -100, 100, 2)            \
    X(tan, tanl, -10, 10, 2)              \
    X(asin, asinl, -1, 1, 2)              \
    X(acos, acosl, -1, 1, 2)              \
    X(atan, atanl, -50, 50, 2)            \
    X(sinh, sinhl, -50, 50, 2)            \
    X(cosh, coshl, -50, 50, 1)            \
    X(tanh, tanhl, -5, 5, 1)              \
    X(exp, expl, -300, 300, 1)            \
    X(exp2, exp2l, -300, 300, 1)          \
    X(expm1, expm1l, -10, 10, 1)          \
    X(log, logl, 1e-9, 1e9, 1)            \
    X(log2, log2l, 1e-9, 1e9, 1)          \
    X(log10, log10l, 1e-9, 1e9, 1)        \
    X(log1p, log1pl, -0.9, 100, 1)        \
    X(sqrt, sqrtl, 0, 1e9, 0)             \
    X(cbrt, cbrtl, -1e9, 1e9, 1)          \
    X(erf, erfl, -5, 5, 2)                \
    X(erfc, erfcl, -5, 10, 5)             \
    X(tgamma, tgammal, 0.1, 100, 10)      \
    X(lgamma, lgammal, 3, 100, 4)         \
    X(rsqrt, reciprocal_root, 1e-9, 1e9, 1) \
    X(floor, floorl, -1e9, 1e9, 0)        \
    X(round, roundl, -1e9, 1e9, 0)        \
    X(rint, rintl, -1e9, 1e9, 0)

#define BINARY(X)                    \
    X(pow, powl, 0.01, 40, 2)        \
    X(atan2, atan2l, -50, 50, 2)     \
    X(hypot, hypotl, -1e9, 1e9, 2)   \
    X(fmod, fmodl, -1e9, 1e9, 0)     \
    X(quotient, exact_quotient, -1e9, 1e9, 0)

static long double reciprocal_root(long double x) { return 1 / sqrtl(x); }
static long double exact_quotient(long double x, long double y) { return x / y; }
__device__ double quotient(double x, double y) { return x / y; }

#define UNARY_KERNEL(function, exact, low, high, ulps) \
    __global__ void run_##function(const double *x, const double *, double *out, int count) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < count) out[i] = function(x[i]); \
    }
#define BINARY_KERNEL(function, exact, low, high, ulps) \
    __global__ void run_##function(const double *x, const double *y, double *out, int count) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < count) out[i] = function(x[i], y[i]); \
    }
UNARY(UNARY_KERNEL)
BINARY(BINARY_KERNEL)

static double ulps_between(double got, long double exact) {
    if (got == double(exact)) return 0;
    int exponent = std::max(ilogbl(exact), -1022);
    return double(fabsl(got - exact) / ldexpl(1.0L, exponent - 52)) - 0.5;
}

typedef void (*Kernel)(const double *, const double *, double *, int);

template <class Exact>
void check_function(const char *name, Kernel kernel, double low, double high, double ulps, Exact exact) {
    const int count = 1000;
    std::vector<double> x = random_values<double>(count, low, high, 21), y = random_values<double>(count, low, high, 22);
    DeviceArray<double> device_x(x), device_y(y), out(count);
    kernel<<<(count + 127) / 128, 128>>>(device_x, device_y, out, count);
    CHECK_KERNEL();
    std::vector<double> got = out.download();
    double worst = 0;
    int where = 0;
    for (int i = 0; i < count; ++i) {
        double distance = ulps_between(got[i], exact(x[i], y[i]));
        if (distance > worst || std::isnan(distance)) worst = distance, where = i;
    }
    if (worst <= ulps + 1e-3) return;
    std::printf("%s(%.17g, %.17g): got %.17g, want %.17g, %.2f ulps of %.0f\n", name, x[where], y[where], got[where],
                double(exact(x[where], y[where])), worst, ulps);
    ++failures;
}

// The four roundings of sums, products, quotients, roots and fused products.
__global__ void roundings(const double *x, const double *y, double *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double a = x[i], b = y[i], *mine = out + 20 * i;
    mine[0] = __dadd_rn(a, b), mine[1] = __dadd_rz(a, b), mine[2] = __dadd_ru(a, b), mine[3] = __dadd_rd(a, b);
    mine[4] = __dmul_rn(a, b), mine[5] = __dmul_rz(a, b), mine[6] = __dmul_ru(a, b), mine[7] = __dmul_rd(a, b);
    mine[8] = __ddiv_rn(a, b), mine[9] = __ddiv_rz(a, b), mine[10] = __ddiv_ru(a, b), mine[11] = __ddiv_rd(a, b);
    mine[12] = __dsqrt_rn(a), mine[13] = __dsqrt_rz(a), mine[14] = __dsqrt_ru(a), mine[15] = __dsqrt_rd(a);
    mine[16] = __fma_rn(a, b, a), mine[17] = __fma_rz(a, b, a), mine[18] = __fma_ru(a, b, a), mine[19] = __fma_rd(a, b, a);
}

static void check_roundings() {
    const int count = 500;
    std::vector<double> x = random_values<double>(count, 0.1, 9, 31), y = random_values<double>(count, 0.1, 9, 32);
    std::vector<double> wanted(20 * count);
    const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    for (int mode = 0; mode < 4; ++mode) {
        std::fesetround(modes[mode]);
        for (int i = 0; i < count; ++i) {
            volatile double a = x[i], b = y[i];
            double *mine = &wanted[20 * i + mode];
            mine[0] = a + b, mine[4] = a * b, mine[8] = a / b, mine[12] = std::sqrt(a), mine[16] = std::fma(a, b, a);
        }
    }
    std::fesetround(FE_TONEAREST);
    DeviceArray<double> device_x(x), device_y(y), out(20 * count);
    roundings<<<4, 128>>>(device_x, device_y, out, count);
    CHECK_KERNEL();
    compare("roundings", out.download(), wanted);
}

int main() {
#define CHECK_UNARY(function, exact, low, high, ulps) \
    check_function(#function, run_##function, low, high, ulps, [](long double x, long double) { return exact(x); });
#define CHECK_BINARY(function, exact, low, high, ulps) \
    check_function(#function, run_##function, low, high, ulps, [](long double x, long double y) { return exact(x, y); });
    UNARY(CHECK_UNARY)
    BINARY(CHECK_BINARY)
    check_roundings();
    return finish();
}
