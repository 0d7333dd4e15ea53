// Results of SHOC's configure script on Linux that the sources need.
#pragma once

#define HAVE_CLOCK_GETTIME 1
#define HAVE_CLOCK_PROCESS_CPUTIME_ID 1
#define HAVE_GETTIMEOFDAY 1
#define HAVE_STDINT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_UNISTD_H 1
#define restrict __restrict__
#define PACKAGE "shoc"
#define VERSION "1"
