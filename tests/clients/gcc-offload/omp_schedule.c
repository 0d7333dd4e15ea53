/* Every iteration of loops and loop nests runs once, in the order of each schedule. */
#include "check.h"
#include <omp.h>

enum { N = 1003 };

static int runs[N], owner[N];

static void every_iteration_ran_once(void)
{
    for (int i = 0; i < N; i++) EXPECT(runs[i] == 1);
}

#define LOOP(clauses)                                                                        \
    do {                                                                                     \
        for (int i = 0; i < N; i++) runs[i] = 0;                                             \
        _Pragma("omp target teams map(tofrom : runs) map(from : owner) num_teams(1) thread_limit(64)") \
        {                                                                                    \
            _Pragma(clauses) for (int i = 0; i < N; i++)                                     \
            {                                                                                \
                runs[i] += 1;                                                                \
                owner[i] = omp_get_thread_num();                                             \
            }                                                                                \
        }                                                                                    \
        every_iteration_ran_once();                                                          \
    } while (0)

static void schedules_of_one_loop(void)
{
    LOOP("omp parallel for schedule(static)");
    for (int i = 1; i < N; i++) EXPECT(owner[i] == owner[i - 1] || owner[i] == owner[i - 1] + 1);
    LOOP("omp parallel for schedule(static, 7)");
    for (int i = 0; i < N; i++) EXPECT(owner[i] == owner[i / 7 * 7]);
    EXPECT(owner[0] == 0 && (owner[7] == 1 || owner[7] == 0));
    LOOP("omp parallel for schedule(dynamic, 5)");
    for (int i = 0; i < N; i++) EXPECT(owner[i] == owner[i / 5 * 5]);
    LOOP("omp parallel for schedule(guided)");
    LOOP("omp parallel for schedule(runtime)");
}

static void nests_become_one_loop(void)
{
    enum { A = 7, B = 11, C = 13 };
    static int cell[A][B][C];
    long sum = 0;
#pragma omp target teams distribute parallel for collapse(3) dist_schedule(static, 16) schedule(dynamic, 3) reduction(+ : sum) map(from : cell)
    for (int i = 0; i < A; i++)
        for (int j = B - 1; j >= 0; j--)
            for (int k = 0; k < C; k++) {
                cell[i][j][k] = i * 10000 + j * 100 + k;
                sum += cell[i][j][k];
            }
    long wanted = 0;
    for (int i = 0; i < A; i++)
        for (int j = 0; j < B; j++)
            for (int k = 0; k < C; k++) {
                EXPECT(cell[i][j][k] == i * 10000 + j * 100 + k);
                wanted += cell[i][j][k];
            }
    EXPECT(sum == wanted);
}

static void the_last_value_comes_back(void)
{
    int last = -1, before = 5, i;
    int a[N];
#pragma omp target map(from : a) map(tofrom : last)
#pragma omp parallel for lastprivate(last) firstprivate(before) schedule(dynamic)
    for (i = 0; i < N; i += 2) {
        last = i;
        a[i] = before + i;
    }
    EXPECT(last == N - 1 && a[N - 1] == N + 4);
}

static void ordered_regions_come_in_order(void)
{
    int order[64], next = 0;
#pragma omp target map(tofrom : order, next)
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 64; i++) {
#pragma omp ordered
        order[next++] = i;
    }
    for (int i = 0; i < 64; i++) EXPECT(order[i] == i);
}

int main(void)
{
    schedules_of_one_loop();
    nests_become_one_loop();
    the_last_value_comes_back();
    ordered_regions_come_in_order();
    return 0;
}
