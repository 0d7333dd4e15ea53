/* Loops over teams and threads, with sums, products, minima and maxima. */
#include "check.h"

int main(void)
{
    enum { N = 5000 };
    static double a[N];
    double sum = 0, least = 1e9, most = -1e9;
    long count = 0;
    for (int i = 0; i < N; i++) a[i] = (i * 37 % N) - 100;
#pragma omp target teams distribute parallel for map(to : a) reduction(+ : sum, count) reduction(min : least) reduction(max : most)
    for (int i = 0; i < N; i++) {
        sum += a[i];
        count += a[i] > 0;
        least = fmin(least, a[i]);
        most = fmax(most, a[i]);
    }
    EXPECT(sum == (double)N * (N - 1) / 2 - 100.0 * N);
    EXPECT(count == N - 101);
    EXPECT(least == -100 && most == N - 101);
    return 0;
}
