/* The clock of waits. */
#include <time.h>

#include "check.h"

#define SHIFT_S 3

/* The clocks of a system whose time of day is set back while a thread waits. */
static int clock_before_change(clockid_t clock, struct timespec *out) {
  const int status = clock_gettime(clock, out);
  if (clock == CLOCK_REALTIME) out->tv_sec += SHIFT_S;
  return status;
}

#define clock_gettime clock_before_change
#include "base/lock.h"
#undef clock_gettime

static tn__lock_t lock = TN__LOCK;
static tn__condition_t changed = TN__CONDITION;

TEST(a_wait_ignores_changes_of_the_time_of_day) {
  const unsigned long long start = tn__now_ms();
  tn__lock(&lock);
  tn__wait_for(&changed, &lock, 10);
  tn__unlock(&lock);
  CHECK(tn__now_ms() - start < SHIFT_S * 1000 - 500);
}
