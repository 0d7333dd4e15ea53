/* Sums and maxima over gangs, workers and vectors. */
#include "check.h"

int main(void)
{
    enum { N = 2000 };
    int a[N], most = 0;
    long sum = 0;
    for (int i = 0; i < N; i++) a[i] = i * 31 % 1999;
#pragma acc parallel loop gang worker vector copyin(a) reduction(+ : sum) reduction(max : most)
    for (int i = 0; i < N; i++) {
        sum += a[i];
        most = a[i] > most ? a[i] : most;
    }
    long wanted = 0;
    int highest = 0;
    for (int i = 0; i < N; i++) wanted += a[i], highest = a[i] > highest ? a[i] : highest;
    EXPECT(sum == wanted && most == highest);
    return 0;
}
