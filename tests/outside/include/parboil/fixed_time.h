/* A clock that stands still: pns takes the time as the seed of its random numbers. */
#include <time.h>

#define time(now) ((time_t)1)
