/* Arrow streams whose arrays TypeScript makes. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tenon_arrow.h"

typedef struct {
  int64_t id; /* TypeScript reads it */
  tn_callback_t *hold;
  char error[TN_ARROW_ERROR_SIZE];
} private_t;

/* The text until TypeScript sets another one: its stubs have refused the call. */
static const char REFUSED[] =
    "the thread of JavaScript that makes the arrays has ended, or is in a native call: consume the stream in an asynchronous call";

static const char *get_last_error(tn_arrow_stream_t *stream) { return ((private_t *)stream->private_data)->error; }

static void release_stream(tn_arrow_stream_t *stream) {
  private_t *mine = stream->private_data;
  stream->release = NULL;
  tn_callback_release(mine->hold);
  free(mine);
}

int32_t tn_arrow_export_stream(void *get_schema, void *get_next, int64_t id, tn_callback_t *hold,
                               tn_arrow_stream_t *out) {
  private_t *mine = calloc(1, sizeof *mine);
  if (mine == NULL) {
    tn_callback_release(hold);
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate an Arrow stream");
  }
  mine->id = id;
  mine->hold = hold;
  memcpy(mine->error, REFUSED, sizeof REFUSED);
  *out = (tn_arrow_stream_t){.get_last_error = get_last_error, .release = release_stream, .private_data = mine};
  memcpy(&out->get_schema, &get_schema, sizeof get_schema);
  memcpy(&out->get_next, &get_next, sizeof get_next);
  return TN_OK;
}

void tn_arrow_fail(const tn_arrow_stream_t *stream, const char *text, uint64_t size) {
  private_t *mine = stream->private_data;
  const size_t length = size < sizeof mine->error ? (size_t)size : sizeof mine->error - 1;
  memcpy(mine->error, text, length);
  mine->error[length] = 0;
}
