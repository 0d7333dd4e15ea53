/* Shared by the programs: a failed check ends the program and reports its line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(claim)                                                        \
    do {                                                                     \
        if (!(claim)) {                                                      \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #claim); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)
