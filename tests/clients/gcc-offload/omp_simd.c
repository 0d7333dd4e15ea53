/* SIMD loops with a sum and a last value. */
#include "check.h"

int main(void)
{
    enum { N = 777 };
    float a[N], sum = 0;
    int last = -1;
    for (int i = 0; i < N; i++) a[i] = (float)i;
#pragma omp target map(to : a) map(tofrom : sum, last)
#pragma omp simd reduction(+ : sum) lastprivate(last)
    for (int i = 0; i < N; i++) {
        sum += a[i];
        last = i;
    }
    EXPECT(sum == (float)(N * (N - 1) / 2));
    EXPECT(last == N - 1);
    return 0;
}
