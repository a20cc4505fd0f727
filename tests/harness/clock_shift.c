/* Shifts the wall clock of a process by CLOCK_SHIFT_SECONDS, and leaves its monotonic clocks alone.

   libfaketime also changes waits for absolute times of the monotonic clock, so that a JVM and Python's sleep wait wrongly. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) {
  const char *seconds = getenv("CLOCK_SHIFT_SECONDS");
  return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(now, zone);
  if (result == 0) now->tv_sec += shift();
  return result;
}

time_t time(time_t *now) {
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  if (now) *now = wall.tv_sec;
  return wall.tv_sec;
}
