/* Functions and variables of the device, recursion, and calls through pointers. */
#include "check.h"

#pragma omp declare target
static int base = 5;
static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
#pragma omp end declare target

int main(void)
{
    int answer = 0, picked[4];
#pragma omp target map(tofrom : answer)
    {
        base += 5;
        answer = fibonacci(base);
    }
    EXPECT(answer == 55);
#pragma omp target map(from : picked)
    {
        int (*functions[2])(int) = {twice, thrice};
        for (int i = 0; i < 4; i++) picked[i] = functions[i % 2](i);
    }
    EXPECT(picked[2] == 4 && picked[3] == 9);
    return 0;
}
