/* The C library of the device: heap, strings and output. */
#include "check.h"
#include <string.h>
#include <unistd.h>

struct node {
    int value;
    struct node *next;
};

static void lists_live_in_one_region(void)
{
    int sum = 0, freed = 0;
#pragma omp target map(tofrom : sum, freed)
    {
        struct node *list = NULL;
        for (int i = 1; i <= 100; i++) {
            struct node *node = malloc(sizeof *node);
            node->value = i;
            node->next = list;
            list = node;
        }
        for (struct node *node = list; node; node = node->next) sum += node->value;
        while (list) {
            struct node *next = list->next;
            free(list);
            list = next;
            freed++;
        }
    }
    EXPECT(sum == 5050 && freed == 100);
}

static void each_thread_has_its_own_block(void)
{
    int wrong = 0;
#pragma omp target teams distribute parallel for reduction(+ : wrong) map(tofrom : wrong)
    for (int i = 0; i < 256; i++) {
        int *block = calloc(8, sizeof *block);
        for (int j = 0; j < 8; j++) wrong += block[j] != 0;
        for (int j = 0; j < 8; j++) block[j] = i * 8 + j;
        block = realloc(block, 16 * sizeof *block);
        for (int j = 0; j < 8; j++) wrong += block[j] != i * 8 + j;
        free(block);
    }
    EXPECT(wrong == 0);
}

static void strings(void)
{
    char text[64] = "to be reversed";
    int length = 0, order = 0;
#pragma omp target map(tofrom : text, length, order)
    {
        length = strlen(text);
        for (int i = 0; i < length / 2; i++) {
            char c = text[i];
            text[i] = text[length - 1 - i];
            text[length - 1 - i] = c;
        }
        strcat(text, "!");
        order = strcmp("device", "host");
    }
    EXPECT(length == 14 && order < 0 && strcmp(text, "desrever eb ot!") == 0);
}

/* The device's output appears in standard output at the end of the region. */
static void printing(void)
{
    char read_back[256] = {0};
    int pipe_ends[2], stdout_kept = dup(1);
    fflush(stdout);
    EXPECT(pipe(pipe_ends) == 0);
    dup2(pipe_ends[1], 1);
#pragma omp target
    printf("%d of %s, %.3f\n", 42, "the device", 2.5);
    fflush(stdout);
    dup2(stdout_kept, 1);
    close(pipe_ends[1]);
    EXPECT(read(pipe_ends[0], read_back, sizeof read_back - 1) > 0);
    EXPECT(strcmp(read_back, "42 of the device, 2.500\n") == 0);
}

int main(void)
{
    lists_live_in_one_region();
    each_thread_has_its_own_block();
    strings();
    printing();
    return 0;
}
