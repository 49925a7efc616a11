/* The driver of a thread without Node-API: native code enters JavaScript through one function pointer, and wakes its event loop with
 * a descriptor. */
#include <stdlib.h>

#include "base/event.h"
#include "base/thread.h"
#include "environment.h"

/* Lives as long as its environment. */
typedef struct {
  int32_t (*enter)(void);
  tn__event_t event;
} driver_t;

static int32_t dispatch(void *driver, int32_t is_in_call) {
  (void)is_in_call;
  return ((driver_t *)driver)->enter() == 1 ? 0 : 1;
}

static void wake(void *driver) { tn__event_signal(&((driver_t *)driver)->event); }

static void end_thread(void *driver) {
  tn_environment_close();
  tn__event_close(&((driver_t *)driver)->event);
  free(driver);
}

int32_t tn_environment_open_plain(tn_call_frame_t *frame, int32_t (*enter)(void), int32_t *descriptor) {
  TN_REQUIRE(enter != NULL && descriptor != NULL, "dispatch and descriptor must not be null");
  driver_t *made = calloc(1, sizeof *made);
  if (made == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a driver");
  made->enter = enter;
  int32_t status = tn__event_open(&made->event);
  if (status == TN_OK && (status = tn_environment_open(frame, &(tn_driver_t){made, dispatch, wake})) != TN_OK)
    tn__event_close(&made->event);
  if (status != TN_OK) {
    free(made);
    return status;
  }
  tn__javascript_thread_on_end(end_thread, made);
  *descriptor = made->event.from;
  return TN_OK;
}

void tn_environment_serve_plain(int32_t descriptor) {
  tn__event_clear(&(tn__event_t){descriptor, descriptor});
  if (tn_environment_serve()) tn__event_signal(&(tn__event_t){descriptor, descriptor});
}
