/* The captured output: a ring of records in command memory, which keeps the last bytes. */
#include "tenon_host.h"

#if defined(__linux__)
#include <string.h>

#include "base/lock.h"
#include "server.h"

typedef struct {
  uint32_t stream;
  uint32_t length;
} record_t;

#define CAPACITY sizeof((tn_host_output_t *)0)->bytes
#define MOST 4096

_Static_assert(CAPACITY % sizeof(record_t) == 0, "a record that fills the rest has room for its head");

static tn__lock_t lock = TN__LOCK;

/* The bytes that were written to the ring, with the heads of records. Command memory is not believed. */
static uint64_t written;

static void put(tn_host_output_t *output, record_t head, const char *bytes) {
  const size_t at = written % CAPACITY;
  memcpy(output->bytes + at, &head, sizeof head);
  if (bytes != NULL) memcpy(output->bytes + at + sizeof head, bytes, head.length);
  written += sizeof head + (head.length + 7u) / 8 * 8;
  atomic_store(TN__LONG(&output->total), written);
}

static void append(uint32_t stream, const char *bytes, uint32_t length) {
  tn_host_output_t *output = (tn_host_output_t *)(void *)(tn__host_command + TN_HOST_OUTPUT_OFFSET);
  const size_t needed = sizeof(record_t) + (length + 7u) / 8 * 8;
  const size_t rest = CAPACITY - written % CAPACITY;
  if (needed > rest) put(output, (record_t){.stream = 0, .length = (uint32_t)(rest - sizeof(record_t))}, NULL);
  put(output, (record_t){.stream = stream, .length = length}, bytes);
}

void tn__host_move_output(void) {
  tn__lock(&lock);
  for (uint32_t stream = 1; stream <= 2; stream++) {
    char bytes[MOST];
    ssize_t length;
    while ((length = read(stream == 1 ? TN_HOST_STDOUT : TN_HOST_STDERR, bytes, sizeof bytes)) > 0)
      append(stream, bytes, (uint32_t)length);
  }
  tn__unlock(&lock);
}
#endif
