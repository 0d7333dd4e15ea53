/* Routines that loops call, and atomic updates. */
#include "check.h"

#pragma acc routine seq
static int steps(int n)
{
    int count = 0;
    for (; n != 1; count++) n = n % 2 ? 3 * n + 1 : n / 2;
    return count;
}

int main(void)
{
    enum { N = 300 };
    int counts[N], total = 0, wanted = 0;
#pragma acc parallel loop copyout(counts) copy(total)
    for (int i = 0; i < N; i++) {
        counts[i] = steps(i + 1);
#pragma acc atomic update
        total += counts[i];
    }
    for (int i = 0; i < N; i++) {
        EXPECT(counts[i] == steps(i + 1));
        wanted += counts[i];
    }
    EXPECT(total == wanted);
    return 0;
}
