/* One thread that watches descriptors for all threads of JavaScript, with epoll or kqueue. It begins with the first watch, and ends with
 * the last. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/epoll.h>
#else
#include <sys/event.h>
#include <sys/time.h>
#endif

#include "base/event.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/thread.h"

#define MOST_AT_ONCE 16
#define FIRST_PLACES 16

/* The index of its place is the lower half of an id. */
#define MOST_WATCHES (1u << 24)

typedef struct {
  uint64_t id;    /* 0 if the place is free */
  size_t next;    /* of the free places: its index plus 1, or 0 */
  int descriptor; /* a duplicate of the watched one */
  bool is_calling;
  void (*readable)(void *data);
  void *data;
} watch_t;

/* Guards all of the following. The set and the event are open while the thread runs. */
static tn__lock_t lock = TN__LOCK;
static tn__condition_t changed = TN__CONDITION;
static watch_t *places;
static size_t place_count, free_place, watch_count;
static bool is_running;
static int set;
static tn__event_t last_removed;

#if defined(__linux__)
static int open_set(void) { return epoll_create1(EPOLL_CLOEXEC); }

/* Makes the set report the id once, when the descriptor is readable. */
static int arm(int descriptor, uint64_t id, bool is_new) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = id};
  return epoll_ctl(set, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
}

/* A duplicate does not leave the set when it is closed. */
static void leave_set(int descriptor) { epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL); }

/* Waits, and returns how many ids were reported. */
static int wait_in(int opened, uint64_t *ids) {
  struct epoll_event events[MOST_AT_ONCE];
  const int count = epoll_wait(opened, events, MOST_AT_ONCE, -1);
  for (int i = 0; i < count; i++) ids[i] = events[i].data.u64;
  return count;
}
#else
static int open_set(void) {
  const int opened = kqueue();
  if (opened >= 0) fcntl(opened, F_SETFD, FD_CLOEXEC);
  return opened;
}

static int arm(int descriptor, uint64_t id, bool is_new) {
  struct kevent event;
  EV_SET(&event, descriptor, EVFILT_READ, (is_new ? EV_ADD : EV_ENABLE) | EV_DISPATCH, 0, 0, (void *)(uintptr_t)id);
  return kevent(set, &event, 1, NULL, 0, NULL);
}

static void leave_set(int descriptor) {
  struct kevent event;
  EV_SET(&event, descriptor, EVFILT_READ, EV_DELETE, 0, 0, NULL);
  kevent(set, &event, 1, NULL, 0, NULL);
}

static int wait_in(int opened, uint64_t *ids) {
  struct kevent events[MOST_AT_ONCE];
  const int count = kevent(opened, NULL, 0, events, MOST_AT_ONCE, NULL);
  for (int i = 0; i < count; i++) ids[i] = (uint64_t)(uintptr_t)events[i].udata;
  return count;
}
#endif

/* Returns an open watch, or null. Under the lock, which the result does not survive. */
static watch_t *find(uint64_t id) {
  const size_t index = id % MOST_WATCHES;
  return id != 0 && index < place_count && places[index].id == id ? &places[index] : NULL;
}

static void call(uint64_t id) {
  tn__lock(&lock);
  watch_t *watch = find(id);
  if (watch != NULL) {
    const watch_t called = *watch;
    watch->is_calling = true;
    tn__unlock(&lock);
    called.readable(called.data);
    tn__lock(&lock);
    /* tn_watcher_remove() waits, so it is still there. */
    find(id)->is_calling = false;
    tn__wake_all(&changed);
  }
  tn__unlock(&lock);
}

/* Returns whether the thread goes on. Otherwise nothing of it is left. */
static bool goes_on(void) {
  tn__lock(&lock);
  const bool will = watch_count != 0;
  if (!will) {
    is_running = false;
    close(set);
    tn__event_close(&last_removed);
    tn__wake_all(&changed);
  }
  tn__unlock(&lock);
  return will;
}

static void run(void *data) {
  (void)data;
  uint64_t ids[MOST_AT_ONCE];
  while (goes_on()) {
    /* Only this thread closes them. */
    const int count = wait_in(set, ids);
    for (int i = 0; i < count; i++) {
      if (ids[i] != 0) {
        call(ids[i]);
        continue;
      }
      tn__event_clear(&last_removed);
      tn__lock(&lock);
      arm(last_removed.from, 0, false);
      tn__unlock(&lock);
    }
  }
}

/* Under the lock. */
static int32_t start(void) {
  static const tn__thread_t thread = {run, NULL};
  if (is_running) return TN_OK;
  set = open_set();
  TN_TRY(tn__system(set, "opening a set of descriptors"));
  int32_t status = tn__event_open(&last_removed);
  if (status == TN_OK) {
    status = tn__system(arm(last_removed.from, 0, true), "watching an event");
    if (status == TN_OK && !tn__thread_start(&thread)) status = tn__fail(TN_SYSTEM, "a thread could not be started");
    if (status == TN_OK) {
      is_running = true;
      return TN_OK;
    }
    tn__event_close(&last_removed);
  }
  close(set);
  return status;
}

/* Makes room for a watch. Under the lock. */
static int32_t make_place(void) {
  if (free_place != 0) return TN_OK;
  const size_t count = place_count == 0 ? FIRST_PLACES : 2 * place_count;
  watch_t *larger = count > MOST_WATCHES ? NULL : realloc(places, count * sizeof *larger);
  if (larger == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a watch");
  for (size_t i = place_count; i < count; i++) larger[i] = (watch_t){.next = i + 1 == count ? 0 : i + 2};
  places = larger;
  free_place = place_count + 1;
  place_count = count;
  return TN_OK;
}

/* Under the lock, with a running thread and a free place. `added` has its descriptor. */
static int32_t add(const watch_t *added, uint64_t *out) {
  static uint64_t last;
  const size_t index = free_place - 1;
  const uint64_t id = (last + 1) * MOST_WATCHES + index;
  TN_TRY(tn__system(arm(added->descriptor, id, true), "watching a descriptor"));
  last++;
  free_place = places[index].next;
  places[index] = *added;
  places[index].id = *out = id;
  watch_count++;
  return TN_OK;
}

int32_t tn_watcher_add(int32_t descriptor, void (*readable)(void *data), void *data, uint64_t *out) {
  TN_REQUIRE(readable != NULL && out != NULL, "readable and out must not be null");
  const watch_t added = {
      .descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), .readable = readable, .data = data};
  if (added.descriptor < 0)
    return tn__fail(TN_SYSTEM, "descriptor %d could not be duplicated: error %d", descriptor, errno);
  tn__lock(&lock);
  int32_t status = make_place();
  if (status == TN_OK) status = start();
  if (status == TN_OK) status = add(&added, out);
  /* A thread that was started for it ends at once. */
  while (status != TN_OK && is_running && watch_count == 0) tn__wait(&changed, &lock);
  tn__unlock(&lock);
  if (status != TN_OK) close(added.descriptor);
  return status;
}

void tn_watcher_again(uint64_t id) {
  tn__lock(&lock);
  const watch_t *watch = find(id);
  if (watch != NULL) arm(watch->descriptor, id, false);
  tn__unlock(&lock);
}

void tn_watcher_remove(uint64_t id) {
  tn__lock(&lock);
  watch_t *watch = find(id);
  if (watch != NULL) leave_set(watch->descriptor);
  while (watch != NULL && watch->is_calling) {
    tn__wait(&changed, &lock);
    watch = find(id);
  }
  if (watch != NULL) {
    close(watch->descriptor);
    *watch = (watch_t){.next = free_place};
    free_place = (size_t)(watch - places) + 1;
    if (--watch_count == 0) tn__event_signal(&last_removed);
    while (is_running && watch_count == 0) tn__wait(&changed, &lock);
  }
  tn__unlock(&lock);
}
