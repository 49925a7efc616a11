/* The part of libuv that watches descriptors. Node.js exports libuv, whose binary interface does not change within its
 * first version, but the headers of Node-API do not declare it. */
#pragma once

#include <stddef.h>

struct uv_loop_s;

/* The start of a uv_poll_t, which has uv_handle_size() bytes. */
typedef struct {
  void *data; /* of the owner */
} tn__uv_poll_t;

#define TN__UV_POLL 8     /* a uv_handle_type */
#define TN__UV_READABLE 1 /* a uv_poll_event */

size_t uv_handle_size(int type);
int uv_poll_init(struct uv_loop_s *loop, tn__uv_poll_t *poll, int descriptor);
int uv_poll_start(tn__uv_poll_t *poll, int events, void (*callback)(tn__uv_poll_t *poll, int status, int events));
const char *uv_strerror(int error);
void uv_close(tn__uv_poll_t *poll, void (*closed)(tn__uv_poll_t *poll));
void uv_ref(tn__uv_poll_t *poll);
void uv_unref(tn__uv_poll_t *poll);
