/* Atomic updates and critical sections. */
#include "check.h"

int main(void)
{
    enum { N = 4096, BINS = 16 };
    int bins[BINS] = {0}, last = 0;
    double sum = 0;
#pragma omp target teams distribute parallel for map(tofrom : bins, sum)
    for (int i = 0; i < N; i++) {
#pragma omp atomic
        bins[i * 7 % BINS]++;
#pragma omp atomic
        sum += 0.5;
    }
    for (int i = 0; i < BINS; i++) EXPECT(bins[i] == N / BINS);
    EXPECT(sum == N / 2);
#pragma omp target map(tofrom : last)
#pragma omp parallel for
    for (int i = 0; i < 64; i++) {
#pragma omp critical
        last++;
    }
    EXPECT(last == 64);
    return 0;
}
