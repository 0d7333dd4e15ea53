/* Declarations of cuFFT, from its documentation, and transforms beside sums in double precision. */
#pragma once
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/cuda_api.h"

typedef int cufftHandle;
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };
enum { FORWARD = -1, INVERSE = 1 };

int cufftCreate(cufftHandle *);
int cufftDestroy(cufftHandle);
int cufftPlan1d(cufftHandle *, int, int, int);
int cufftPlan2d(cufftHandle *, int, int, int);
int cufftPlan3d(cufftHandle *, int, int, int, int);
int cufftMakePlan1d(cufftHandle, int, int, int, size_t *);
int cufftMakePlan2d(cufftHandle, int, int, int, size_t *);
int cufftMakePlanMany(cufftHandle, int, int *, int *, int, int, int *, int, int, int, int, size_t *);
int cufftPlanMany(cufftHandle *, int, int *, int *, int, int, int *, int, int, int, int);
int cufftXtMakePlanMany(cufftHandle, int, long long *, long long *, long long, long long, int, long long *,
                        long long, long long, int, long long, size_t *, int);
int cufftEstimate1d(int, int, int, size_t *);
int cufftGetSize(cufftHandle, size_t *);
int cufftSetStream(cufftHandle, void *);
int cufftSetAutoAllocation(cufftHandle, int);
int cufftSetWorkArea(cufftHandle, void *);
int cufftExecC2C(cufftHandle, void *, void *, int);
int cufftExecZ2Z(cufftHandle, void *, void *, int);
int cufftExecR2C(cufftHandle, void *, void *);
int cufftExecD2Z(cufftHandle, void *, void *);
int cufftExecC2R(cufftHandle, void *, void *);
int cufftExecZ2D(cufftHandle, void *, void *);
int cufftXtExec(cufftHandle, void *, void *, int);
int cufftGetVersion(int *);
int cufftGetProperty(int, int *);
int cufftXtSetGPUs(cufftHandle, int, int *);
int cufftXtSetCallback(cufftHandle, void **, int, void **);

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        const int status_of_call = (call);                                                            \
        if (status_of_call != 0) {                                                                    \
            printf("%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, status_of_call);                 \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

/* Sizes of memory, and distances of elements and of transforms. */
struct Layout {
    int sizes[3], stride, distance;
};

struct Transform {
    int type, rank, n[3], batch, direction, in_place;
    /* With a stride of 0, the packed layout. */
    struct Layout in, out;
};

static uint64_t random_state = 88172645463325252ULL;

static double random_value(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(int32_t)(random_state >> 32) / 2147483648.0;
}

static int is_double(int type) { return type & 0x40; }
static int is_real_in(int type) { return (type & ~0x40) == R2C; }
static int is_real_out(int type) { return (type & ~0x40) == C2R; }

/* Transforms lines of `n` values, `stride` apart, by sums. */
static void lines(double complex *values, size_t volume, int n, size_t stride, int direction)
{
    double complex *roots = malloc(n * sizeof *roots), *line = malloc(n * sizeof *line);
    for (int k = 0; k < n; k++)
        roots[k] = cexp(direction * 2 * M_PI * I * ((double)k / n));
    for (size_t start = 0; start < volume; start++) {
        if (start / stride % n != 0)
            continue;
        for (int k = 0; k < n; k++) {
            double complex sum = 0;
            int place = 0;
            for (int j = 0; j < n; j++) {
                sum += values[start + j * stride] * roots[place];
                place += k;
                place -= place >= n ? n : 0;
            }
            line[k] = sum;
        }
        for (int k = 0; k < n; k++)
            values[start + k * stride] = line[k];
    }
    free(roots);
    free(line);
}

/* Packed layout of a side: real sides of a transform within an array have padding. */
static struct Layout packed(const struct Transform *t, int is_real, int is_half)
{
    struct Layout layout = {{t->n[0], t->n[1], t->n[2]}, 1, 1};
    int *last = &layout.sizes[t->rank - 1];
    if (is_half)
        *last = *last / 2 + 1;
    if (is_real && t->in_place)
        *last = 2 * (*last / 2 + 1);
    for (int d = 0; d < t->rank; d++)
        layout.distance *= layout.sizes[d];
    return layout;
}

static size_t place_of(const struct Layout *layout, int rank, int batch, const int *index)
{
    size_t place = index[0];
    for (int d = 1; d < rank; d++)
        place = place * layout->sizes[d] + index[d];
    return (size_t)batch * layout->distance + place * layout->stride;
}

static size_t elements_of(const struct Layout *layout, const struct Transform *t)
{
    size_t elements = layout->stride;
    for (int d = 0; d < t->rank; d++)
        elements *= layout->sizes[d];
    return elements + (size_t)(t->batch - 1) * layout->distance;
}

/* Copies values between an array with a layout and dense ones. Returns the greatest difference. */
static double copy(const struct Transform *t, const struct Layout *layout, void *array, double complex *dense,
                   int is_real, int is_half, int stores)
{
    const int z = t->n[t->rank - 1];
    double most = 0;
    size_t number = 0;
    for (int batch = 0; batch < t->batch; batch++)
        for (int a = 0; a < (t->rank > 2 ? t->n[0] : 1); a++)
            for (int b = 0; b < (t->rank > 1 ? t->n[t->rank - 2] : 1); b++)
                for (int c = 0; c < z; c++, number++) {
                    if (is_half && c > z / 2)
                        continue;
                    const int all[3] = {a, b, c};
                    const size_t place = place_of(layout, t->rank, batch, all + 3 - t->rank);
                    for (int part = 0; part < (is_real ? 1 : 2); part++) {
                        const double value = part ? cimag(dense[number]) : creal(dense[number]);
                        const size_t at = is_real ? place : 2 * place + part;
                        if (stores && is_double(t->type))
                            ((double *)array)[at] = value;
                        else if (stores)
                            ((float *)array)[at] = (float)value;
                        const double found =
                            is_double(t->type) ? ((double *)array)[at] : (double)((float *)array)[at];
                        if (!(fabs(found - value) <= most))
                            most = fabs(found - value);
                    }
                }
    return most;
}

static int execute(cufftHandle plan, const struct Transform *t, void *in, void *out)
{
    switch (t->type) {
    case C2C: return cufftExecC2C(plan, in, out, t->direction);
    case Z2Z: return cufftExecZ2Z(plan, in, out, t->direction);
    case R2C: return cufftExecR2C(plan, in, out);
    case D2Z: return cufftExecD2Z(plan, in, out);
    case C2R: return cufftExecC2R(plan, in, out);
    default: return cufftExecZ2D(plan, in, out);
    }
}

/* Runs `plan` on random numbers, and says how it differs from sums. Returns the error, in roundings. */
static inline double compare(cufftHandle plan, struct Transform t)
{
    const int real_in = is_real_in(t.type), real_out = is_real_out(t.type);
    const size_t word = is_double(t.type) ? 8 : 4;
    if (t.in.stride == 0) {
        t.in = packed(&t, real_in, real_out);
        t.out = packed(&t, real_out, real_in);
    }
    size_t volume = t.batch;
    for (int d = 0; d < t.rank; d++)
        volume *= t.n[d];
    double complex *time = malloc(volume * sizeof *time), *values = malloc(volume * sizeof *values);
    for (size_t i = 0; i < volume; i++)
        time[i] = random_value() + (real_in || real_out ? 0 : I * random_value());
    /* Numbers as the library gets them. */
    for (size_t i = 0; word == 4 && i < volume; i++)
        time[i] = (float)creal(time[i]) + I * (float)cimag(time[i]);
    memcpy(values, time, volume * sizeof *values);
    size_t stride = 1;
    for (int d = t.rank - 1; d >= 0; d--) {
        lines(values, volume, t.n[d], stride, real_in || real_out ? FORWARD : t.direction);
        stride *= t.n[d];
    }
    double complex *given = real_out ? values : time, *expected = real_out ? time : values;
    for (size_t i = 0; real_out && i < volume; i++)
        expected[i] *= (double)volume / t.batch;
    const size_t in_bytes = elements_of(&t.in, &t) * word * (real_in ? 1 : 2) + 64;
    const size_t out_bytes = elements_of(&t.out, &t) * word * (real_out ? 1 : 2) + 64;
    const size_t bytes = in_bytes > out_bytes ? in_bytes : out_bytes;
    char *host = malloc(bytes), *before = malloc(bytes), *in, *out;
    memset(host, 0x3c, bytes);
    copy(&t, &t.in, host, given, real_in, real_out, 1);
    memcpy(before, host, bytes);
    CHECK(cudaMalloc((void **)&in, bytes));
    CHECK(cudaMemcpy(in, host, bytes, cudaMemcpyHostToDevice));
    out = in;
    if (!t.in_place) {
        memset(host, 0x3c, bytes);
        CHECK(cudaMalloc((void **)&out, bytes));
        CHECK(cudaMemcpy(out, host, bytes, cudaMemcpyHostToDevice));
    }
    CHECK(execute(plan, &t, in, out));
    CHECK(cudaMemcpy(host, out, bytes, cudaMemcpyDeviceToHost));
    double squares = 0;
    for (size_t i = 0; i < volume; i++)
        squares += creal(expected[i] * conj(expected[i]));
    const double rounding = word == 4 ? 0x1p-24 : 0x1p-53;
    const double scale = sqrt(squares / volume) * rounding * (log2((double)volume / t.batch) + 1);
    const double error = copy(&t, &t.out, host, expected, real_out, real_in, 0) / scale;
    /* Sums in double precision have roundings of their own. */
    if (!(error < (word == 4 ? 2 : 16)))
        printf("type %x, %d x %d x %d, batch %d, direction %d, in place %d: error of %g roundings\n", t.type, t.n[0],
               t.n[1], t.n[2], t.batch, t.direction, t.in_place, error);
    if (!t.in_place) {
        /* Gaps keep their bytes, and so does the input. */
        copy(&t, &t.out, host, expected, real_out, real_in, 1);
        char *clean = malloc(bytes);
        memset(clean, 0x3c, bytes);
        copy(&t, &t.out, clean, expected, real_out, real_in, 1);
        if (memcmp(clean, host, bytes) != 0)
            printf("type %x, %d x %d x %d: gaps of the output have changed\n", t.type, t.n[0], t.n[1], t.n[2]);
        CHECK(cudaMemcpy(host, in, bytes, cudaMemcpyDeviceToHost));
        if (memcmp(before, host, bytes) != 0)
            printf("type %x, %d x %d x %d: the input has changed\n", t.type, t.n[0], t.n[1], t.n[2]);
        free(clean);
        CHECK(cudaFree(out));
    }
    CHECK(cudaFree(in));
    free(host);
    free(before);
    free(time);
    free(values);
    return error;
}
