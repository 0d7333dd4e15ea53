/* Asynchronous regions, ordered by their dependences. */
#include "check.h"

int main(void)
{
    int a = 1, b = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp target nowait map(tofrom : a) depend(out : a)
        a += 10;
#pragma omp target nowait map(to : a) map(from : b) depend(in : a) depend(out : b)
        b = a * 2;
#pragma omp taskwait
    }
    EXPECT(a == 11 && b == 22);
    return 0;
}
