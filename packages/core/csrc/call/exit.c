/* The ends of threads of JavaScript and of the process. Both wait for native code that still runs, because it may use
 * memory and libraries that are destroyed then. */
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <io.h>
#define write(file, text, size) _write(file, text, (unsigned)(size))
#else
#include <unistd.h>
#endif

#include "call/jobs.h"
#include "call/stubs.h"
#include "environment.h"

/* The end of the process, once it has begun. Guarded by the lock of the environments. */
static uint64_t deadline_ms = TN__JOBS_NO_DEADLINE;
static uint64_t waited_ms;
static int32_t exit_code;

static uint64_t deadline(void) {
  tn__lock(tn__environments_lock());
  const uint64_t found = deadline_ms;
  tn__unlock(tn__environments_lock());
  return found;
}

/* Without this, the exit would run destructors of libraries whose functions are running. Those functions may hold locks
 * of the C library, so its streams are not used. */
static _Noreturn void give_up(void) {
  char name[TN__CALL_NAME];
  bool is_later = false;
  const bool is_named = tn__jobs_describe(name, &is_later);
  const char *why = is_later ? "its future was not settled" : is_named ? "it did not return" : "they did not return";
  /* Errors are the only text that the core formats. */
  const bool is_whole = waited_ms % 1000 == 0;
  tn__fail(TN_OK, "tenon: ended without waiting for %s: %s in %llu %s. TENON_EXIT_WAIT sets how long an exit waits.\n",
           is_named ? name : "native calls", why, (unsigned long long)(is_whole ? waited_ms / 1000 : waited_ms),
           is_whole ? "s" : "ms");
  const char *text = tn_last_error();
  const long long written = write(2, text, strlen(text));
  (void)written;
  _Exit(exit_code);
}

/* Waits for the jobs of an environment, or ends the process if an exit has begun and its time is over. */
static void wait_for_jobs(uint64_t environment) {
  /* An exit may begin meanwhile, and sets a deadline then. */
  for (;;) {
    const uint64_t end = deadline(), next = tn__now_ms() + 100;
    if (tn__jobs_wait(environment, next < end ? next : end)) return;
    if (tn__now_ms() >= deadline()) give_up();
  }
}

void tn_environment_shut(void) {
  tn_environment_t *mine = tn_environment_current();
  if (mine == NULL || mine->is_shut) return;
  mine->is_shut = true;
  tn__stubs_close_all(mine->id);
  /* From here on other threads do not find it. */
  tn_message_t *message = tn__environment_leave(mine);
  tn__relay_close_all(mine->id, false);
  tn__jobs_remove_all(mine->id);
  for (tn_message_t *next; message != NULL; message = next) {
    next = message->next;
    message->run(message, 1);
  }
  tn__callbacks_close_all(mine);
}

void tn_environment_close(void) {
  tn_environment_t *mine = tn_environment_current();
  if (mine == NULL) return;
  mine->is_closed = true;
  tn_environment_shut();
  wait_for_jobs(mine->id);
  tn__environment_free();
}

void tn_process_exit(int32_t code, uint64_t wait_ms) {
  const uint64_t now = tn__now_ms();
  tn__lock(tn__environments_lock());
  exit_code = code;
  waited_ms = wait_ms;
  deadline_ms = wait_ms < TN__JOBS_NO_DEADLINE - now ? now + wait_ms : TN__JOBS_NO_DEADLINE;
  tn__unlock(tn__environments_lock());
  tn_environment_shut();
  tn__relay_close_all(tn_environment_id(), true);
  /* Workers run JavaScript until this returns. */
  tn__jobs_close();
  tn__jobs_remove_all(TN__JOBS_OF_ALL);
  if (!tn__jobs_wait(TN__JOBS_OF_ALL, deadline_ms)) give_up();
}
