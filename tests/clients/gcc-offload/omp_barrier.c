/* Threads of a team exchange values across barriers. */
#include "check.h"
#include <omp.h>

int main(void)
{
    enum { THREADS = 8 };
    int values[THREADS] = {0}, sums[THREADS] = {0}, threads = 0;
#pragma omp target map(tofrom : values, sums, threads)
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num(), count = omp_get_num_threads();
        values[me] = me * me;
#pragma omp barrier
        for (int i = 0; i < count; i++) sums[me] += values[i];
#pragma omp single
        threads = count;
    }
    EXPECT(threads >= 1 && threads <= THREADS);
    int sum = 0;
    for (int i = 0; i < threads; i++) sum += i * i;
    for (int i = 0; i < threads; i++) EXPECT(sums[i] == sum);
    return 0;
}
