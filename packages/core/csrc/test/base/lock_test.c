/* Waiting for conditions. */
#include "check.h"
#include "thread.h"

static tn__lock_t lock = TN__LOCK;
static tn__condition_t changed = TN__CONDITION;
static int step;

static void *answer(void *unused) {
  (void)unused;
  tn__lock(&lock);
  for (int i = 0; i < 100; i++) {
    while (step != 2 * i + 1) tn__wait(&changed, &lock);
    step++;
    tn__wake_all(&changed);
  }
  tn__unlock(&lock);
  return NULL;
}

TEST(two_threads_wake_each_other) {
  test_thread_t thread;
  CHECK(thread_start(&thread, answer, NULL));
  tn__lock(&lock);
  for (int i = 0; i < 100; i++) {
    step++;
    tn__wake_all(&changed);
    while (step != 2 * i + 2) tn__wait_for(&changed, &lock, 100);
  }
  tn__unlock(&lock);
  thread_join(&thread);
  CHECK(step == 200);
}
