/* Complex numbers in double precision, and routines that a thread and the threads of a vector call. */
#include "check.h"
#include <complex.h>

enum { N = 64 };

#pragma acc routine seq
static int escapes_after(double complex c)
{
    double complex z = 0;
    int n = 0;
    for (; n < 50 && creal(z) * creal(z) + cimag(z) * cimag(z) <= 4; n++) z = z * z + c;
    return n;
}

#pragma acc routine vector
static double sum_of_row(const double *row, int n)
{
    double sum = 0;
#pragma acc loop vector reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += row[i];
    return sum;
}

static void mandelbrot(void)
{
    static int counts[N][N];
#pragma acc parallel loop collapse(2) copyout(counts)
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) counts[y][x] = escapes_after((x - 44) / 24.0 + (y - 32) / 24.0 * I);
    int inside = 0;
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            EXPECT(counts[y][x] == escapes_after((x - 44) / 24.0 + (y - 32) / 24.0 * I));
            inside += counts[y][x] == 50;
        }
    EXPECT(inside > 100 && inside < N * N / 2);
}

static void transform(void)
{
    double complex in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = cos(2 * M_PI * 5 * i / N) + I * sin(2 * M_PI * 3 * i / N);
#pragma acc parallel loop gang vector copyin(in) copyout(out)
    for (int k = 0; k < N; k++) {
        double complex sum = 0;
        for (int i = 0; i < N; i++) sum += in[i] * cexp(-2 * M_PI * I * k * i / N);
        out[k] = sum / N;
    }
    for (int k = 0; k < N; k++) {
        double wanted = k == 5 || k == N - 5 ? 0.5 : k == 3 ? 0.5 : k == N - 3 ? -0.5 : 0;
        EXPECT(cabs(out[k] - wanted) < 1e-12);
    }
}

static void rows(void)
{
    static double table[N][N], sums[N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) table[i][j] = i + 0.25 * j;
#pragma acc parallel loop gang copyin(table) copyout(sums) vector_length(32)
    for (int i = 0; i < N; i++) sums[i] = sum_of_row(table[i], N);
    for (int i = 0; i < N; i++) EXPECT(sums[i] == N * i + 0.25 * N * (N - 1) / 2);
}

int main(void)
{
    mandelbrot();
    transform();
    rows();
    return 0;
}
