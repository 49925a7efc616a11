/* A client within the process of the test, which shares command memory with the functions of a worker. */
#ifndef TENON_HOST_KERNELS_SUPPORT_H
#define TENON_HOST_KERNELS_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host/kernels/message_pack.h"
#include "tenon_host.h"
#include "xla/support.h"

/* Serves the request in slot 0, whose answer is in the slot and its body. */
const tn_host_slot_t *serve(tn_host_slot_t request, const void *body, size_t length, const tn_host_operand_t *operands);

/* The slot and the body of the answer, and the header. */
tn_host_slot_t *slot_zero(void);
uint8_t *body_zero(void);
tn_host_header_t *header(void);

/* Turns guard mode on or off, which a worker never does. */
void guard(bool is_on);

/* A request without operands. */
static inline const tn_host_slot_t *ask(uint32_t operation, uint32_t target, const void *body, size_t length) {
  return serve((tn_host_slot_t){.operation = operation, .target = target}, body, length, NULL);
}

/* Makes a memory of zeroed bytes that the worker knows by `id`. Returns its bytes, as the client sees them. */
/* The descriptor that the next memory gets. */
void send_descriptor(int32_t descriptor);

uint8_t *share(uint32_t id, size_t size, bool is_writable);

/* Releases a memory of share(). */
void unshare(uint32_t id, uint8_t *bytes, size_t size);

/* Loads a library of this package, and returns its id. */
uint32_t load(const char *name);

/* A new id. */
uint32_t new_id(void);

/* Makes a kernel. Its id is 0 if that was refused, and the answer is in the slot. */
typedef struct {
  uint32_t library, convention, operands, results;
  const char *symbols[4];
  const void *descriptor;
  size_t descriptor_length;
} kernel_t;
uint32_t make_kernel(const kernel_t *kernel);

/* Runs a kernel. */
const tn_host_slot_t *run(uint32_t kernel, const tn_host_operand_t *operands, uint32_t count, const void *body,
                          size_t length);

/* Whether the answer is a refusal with this status, and a message that contains a text. */
bool is_refused(const tn_host_slot_t *answer, int32_t status, const char *text);

/* Whether the body of the answer contains a text. */
bool body_has(const tn_host_slot_t *answer, const char *text);

/* Called when the worker calls the client back: reads the body, and writes the answer there. */
extern void (*called_back)(tn_host_slot_t *slot, uint8_t *body);

#define READ(memory_, offset_, length_) {.memory = (memory_), .flags = TN_HOST_READ_ONLY, .offset = (offset_), .length = (length_)}
#define WRITE(memory_, offset_, length_) {.memory = (memory_), .offset = (offset_), .length = (length_)}

#endif
