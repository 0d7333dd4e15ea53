/* Private arrays of teams and threads, their combination, and functions with tables on the device. */
#include "check.h"
#include <omp.h>

enum { N = 1 << 12, BINS = 16 };

#pragma omp declare target
static const int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
static int calls;
static int weight(int i)
{
#pragma omp atomic
    calls++;
    return primes[i % 8];
}
#pragma omp end declare target

static void arrays_of_each_iteration(void)
{
    static int sums[N / 64];
    int scratch[64];
    for (int i = 0; i < 64; i++) scratch[i] = -1;
#pragma omp target teams distribute private(scratch) map(from : sums)
    for (int block = 0; block < N / 64; block++) {
#pragma omp parallel for
        for (int i = 0; i < 64; i++) scratch[i] = block + i;
        int sum = 0;
        for (int i = 0; i < 64; i++) sum += scratch[i];
        sums[block] = sum;
    }
    for (int block = 0; block < N / 64; block++) EXPECT(sums[block] == 64 * block + 63 * 32);
    EXPECT(scratch[5] == -1);
}

static void first_values_of_each_thread(void)
{
    int table[8] = {1, 2, 3, 4, 5, 6, 7, 8}, results[256];
#pragma omp target teams distribute parallel for firstprivate(table) map(from : results)
    for (int i = 0; i < 256; i++) {
        results[i] = table[i % 8] * i;
        table[i % 8] = 0;
    }
    for (int i = 0; i < 256; i++) EXPECT(results[i] == (i % 8 + 1) * i || results[i] == 0);
    for (int i = 0; i < 8; i++) EXPECT(results[i] == (i + 1) * i);
    EXPECT(table[0] == 1 && table[7] == 8);
}

static void arrays_are_summed_up(void)
{
    int bins[BINS] = {0};
    double least = 1e9, most = -1e9;
    long sum = 3;
    int all = 1, any = 0;
#pragma omp target teams distribute parallel for map(tofrom : bins, least, most, sum, all, any) \
    reduction(+ : bins, sum) reduction(min : least) reduction(max : most) reduction(&& : all) reduction(|| : any)
    for (int i = 0; i < N; i++) {
        double x = (i * 37 % N) - 100.5;
        bins[i * 7 % BINS]++;
        sum += i;
        least = x < least ? x : least;
        most = x > most ? x : most;
        all = all && i < N;
        any = any || i == 77;
    }
    for (int i = 0; i < BINS; i++) EXPECT(bins[i] == N / BINS);
    EXPECT(least == -100.5 && most == N - 1 - 100.5 && sum == 3 + (long)N * (N - 1) / 2 && all && any);
}

static void tables_and_counters_stay_on_the_device(void)
{
    long sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < N; i++) sum += weight(i);
    EXPECT(sum == N / 8 * 77);
    EXPECT(calls == 0);
#pragma omp target update from(calls)
    EXPECT(calls == N);
}

int main(void)
{
    arrays_of_each_iteration();
    first_values_of_each_thread();
    arrays_are_summed_up();
    tables_and_counters_stay_on_the_device();
    return 0;
}
