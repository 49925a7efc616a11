/* posix/watcher.c: when the function of a watch runs, how often, and the end of watches and of their thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "posix/descriptors.h"
#include "tenon.h"
#include "thread.h"

typedef struct {
  atomic_int calls;
  atomic_int is_inside;
  unsigned stay_ms;
  atomic_uint_fast64_t watch; /* asked for again by the function itself, if it is not 0 */
} counter_t;

static void count(void *data) {
  counter_t *counter = data;
  atomic_store(&counter->is_inside, 1);
  atomic_fetch_add(&counter->calls, 1);
  if (counter->stay_ms != 0) sleep_ms(counter->stay_ms);
  const uint64_t watch = atomic_load(&counter->watch);
  if (watch != 0) tn_watcher_again(watch);
  atomic_store(&counter->is_inside, 0);
}

static int comes_to_calls(counter_t *counter, int expected) {
  for (int i = 0; i < 5000 && atomic_load(&counter->calls) < expected; i++) sleep_ms(1);
  return atomic_load(&counter->calls) == expected;
}

TEST(a_watch_calls_once_for_each_request) {
  const int before = open_descriptors();
  int ends[2];
  char byte = 1;
  uint64_t watch = 0;
  counter_t counter = {0};
  CHECK(pipe(ends) == 0);
  CHECK(tn_watcher_add(ends[0], count, &counter, &watch) == TN_OK && watch != 0);
  sleep_ms(20);
  CHECK(atomic_load(&counter.calls) == 0);
  CHECK(write(ends[1], &byte, 1) == 1);
  CHECK(comes_to_calls(&counter, 1));
  sleep_ms(20);
  CHECK(atomic_load(&counter.calls) == 1); /* still readable, but not asked again */
  tn_watcher_again(watch);
  CHECK(comes_to_calls(&counter, 2));
  CHECK(read(ends[0], &byte, 1) == 1);
  tn_watcher_again(watch);
  close(ends[0]);
  close(ends[1]);
  CHECK(comes_to_calls(&counter, 3)); /* the end of a pipe is readable; the watch has a duplicate */
  tn_watcher_remove(watch);
  tn_watcher_again(watch);
  tn_watcher_remove(watch);
  CHECK(open_descriptors() == before);
}

TEST(watches_of_one_descriptor_are_independent) {
  const int before = open_descriptors();
  int ends[2];
  uint64_t watches[40];
  counter_t counters[40] = {0};
  CHECK(pipe(ends) == 0);
  for (int i = 0; i < 40; i++) CHECK(tn_watcher_add(ends[0], count, &counters[i], &watches[i]) == TN_OK);
  for (int i = 0; i < 20; i++) tn_watcher_remove(watches[i]);
  CHECK(write(ends[1], "x", 1) == 1);
  for (int i = 0; i < 40; i++) CHECK(comes_to_calls(&counters[i], i < 20 ? 0 : 1));
  for (int i = 20; i < 40; i++) tn_watcher_remove(watches[i]);
  close(ends[0]);
  close(ends[1]);
  CHECK(open_descriptors() == before);
}

TEST(removing_a_watch_waits_while_its_function_runs) {
  int ends[2];
  for (unsigned stay_ms = 0; stay_ms < 60; stay_ms += 3) {
    counter_t counter = {.stay_ms = stay_ms};
    uint64_t watch = 0;
    CHECK(pipe(ends) == 0);
    CHECK(tn_watcher_add(ends[0], count, &counter, &watch) == TN_OK);
    atomic_store(&counter.watch, watch);
    CHECK(write(ends[1], "x", 1) == 1);
    sleep_ms(stay_ms / 2);
    tn_watcher_remove(watch);
    CHECK(atomic_load(&counter.is_inside) == 0);
    close(ends[0]);
    close(ends[1]);
  }
}

typedef struct {
  int descriptor;
  atomic_int *ends;
} adder_t;

static void *add_and_remove(void *data) {
  adder_t *adder = data;
  for (int i = 0; i < 2000; i++) {
    counter_t counter = {0};
    uint64_t watch = 0;
    if (tn_watcher_add(adder->descriptor, count, &counter, &watch) != TN_OK) break;
    atomic_store(&counter.watch, watch);
    if (i % 3 == 0) sleep_ms(0);
    tn_watcher_remove(watch);
    if (i == 1999) atomic_fetch_add(adder->ends, 1);
  }
  return NULL;
}

TEST(threads_add_and_remove_watches_of_a_readable_descriptor) {
  const int before = open_descriptors();
  int ends[2];
  atomic_int completed = 0;
  test_thread_t threads[4];
  CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
  adder_t adder = {ends[0], &completed};
  for (int i = 0; i < 4; i++) CHECK(thread_start(&threads[i], add_and_remove, &adder));
  for (int i = 0; i < 4; i++) thread_join(&threads[i]);
  CHECK(atomic_load(&completed) == 4);
  close(ends[0]);
  close(ends[1]);
  CHECK(open_descriptors() == before);
}

TEST(a_descriptor_that_cannot_be_watched_is_refused) {
  const int before = open_descriptors();
  uint64_t watch = 0;
  CHECK(tn_watcher_add(-1, count, NULL, &watch) == TN_SYSTEM && strstr(tn_last_error(), "descriptor -1") != NULL);
  CHECK(tn_watcher_add(0, NULL, NULL, &watch) == TN_INVALID_ARGUMENT);
  CHECK(tn_watcher_add(0, count, NULL, NULL) == TN_INVALID_ARGUMENT);
#if defined(__linux__)
  FILE *file = tmpfile();
  CHECK(file != NULL && tn_watcher_add(fileno(file), count, NULL, &watch) == TN_SYSTEM);
  fclose(file);
#endif
  CHECK(watch == 0);
  tn_watcher_remove(watch);
  CHECK(comes_to(before));
}
