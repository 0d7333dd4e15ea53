/* Updates and mappings of parts of arrays, in both directions; a part keeps its offset. */
#include "check.h"

enum { ROWS = 12, COLUMNS = 20 };

static int table[ROWS][COLUMNS];

static void parts_of_a_list(void)
{
    enum { N = 100 };
    int *a = malloc(N * sizeof *a);
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target enter data map(to : a[20 : 60])
#pragma omp target map(alloc : a[20 : 60])
    for (int i = 20; i < 80; i++) a[i] += 1000;
#pragma omp target update from(a[30 : 10])
    for (int i = 0; i < N; i++) EXPECT(a[i] == (i >= 30 && i < 40 ? i + 1000 : i));
    for (int i = 50; i < 60; i++) a[i] = -i;
#pragma omp target update to(a[50 : 5])
#pragma omp target exit data map(from : a[20 : 60])
    for (int i = 0; i < N; i++) {
        int wanted = i >= 50 && i < 55 ? -i : i >= 20 && i < 80 ? i + 1000 : i;
        EXPECT(a[i] == wanted);
    }
    free(a);
}

static void rows_of_a_table(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) table[i][j] = i * COLUMNS + j;
#pragma omp target data map(to : table)
    {
#pragma omp target teams distribute parallel for collapse(2)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) table[i][j] *= 2;
#pragma omp target update from(table[3 : 4])
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            EXPECT(table[i][j] == (i * COLUMNS + j) * (i >= 3 && i < 7 ? 2 : 1));
}

/* A pointer in a structure refers to the mapped part of its target. */
static void a_structure_with_a_pointer(void)
{
    struct list {
        int length;
        double *values;
    } list = {50, malloc(50 * sizeof(double))};
    for (int i = 0; i < 50; i++) list.values[i] = i;
#pragma omp target map(to : list) map(tofrom : list.values[: list.length])
    for (int i = 0; i < list.length; i++) list.values[i] = 0.5 * list.values[i] + 1;
    for (int i = 0; i < 50; i++) EXPECT(list.values[i] == 0.5 * i + 1);
    free(list.values);
}

/* An existing mapping is reused, and released by the region that created it. */
static void mappings_are_counted(void)
{
    int a[10] = {0};
#pragma omp target data map(tofrom : a)
    {
#pragma omp target data map(from : a)
        {
#pragma omp target
            a[3] = 7;
        }
        EXPECT(a[3] == 0);
#pragma omp target update if (0) from(a)
        EXPECT(a[3] == 0);
#pragma omp target map(always, from : a)
        a[4] = a[3] + 1;
        EXPECT(a[3] == 7 && a[4] == 8);
    }
    EXPECT(a[3] == 7 && a[4] == 8);
}

int main(void)
{
    parts_of_a_list();
    rows_of_a_table();
    a_structure_with_a_pointer();
    mappings_are_counted();
    return 0;
}
