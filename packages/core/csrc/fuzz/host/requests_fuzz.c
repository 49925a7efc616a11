/* host/kernels: requests of a client that writes anything. The worker must answer each of them. */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                              \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                          \
    }                                                                   \
  } while (0)

enum { BYTES = 8192 };

/* The objects that requests can name: kernels that do no harm whatever their arguments, and a library whose functions take no arguments. */
static struct {
  uint32_t kernels[4], memories[2], library;
} known;

static void answer_with_own_body(tn_host_slot_t *slot, uint8_t *body) {
  (void)body;
  slot->length = slot->length * 3 % (TN_HOST_BODY_SIZE + 2);
}

static void open_known(void) {
  descriptor_t d;
  const int64_t two = 2, start = 0;
  put_header(&d, 0, 0, 1, 1, (tn_xla_bundle_v1_t){NULL, NULL, NULL, NULL});
  put_buffer(&d, TN_XLA_S64, 1, &two);
  put_scalar(&d, "start", TN_XLA_S64, &start);
  const uint32_t typed = load("faulty"), packed = load("faulty_packed");
  known.library = load("core_fixture_dependency");
  known.kernels[0] = make_kernel(
      &(kernel_t){typed, TN_HOST_XLA, 0, 1, {"counter_instantiate", NULL, NULL, "counter"}, d.bytes, d.size});
  known.kernels[1] = make_kernel(&(kernel_t){.library = packed, .convention = TN_HOST_PACKED, .symbols = {[3] = "echo"}});
  known.kernels[2] = make_kernel(&(kernel_t){.library = packed, .convention = TN_HOST_PACKED, .symbols = {[3] = "call"}});
  known.kernels[3] = make_kernel(&(kernel_t){
      .library = known.library, .convention = TN_HOST_FUNCTION, .symbols = {[3] = "fixture_dependency_text"}});
  for (int i = 0; i < 4; i++) REQUIRE(known.kernels[i] != 0);
  for (uint32_t i = 0; i < 2; i++) share(known.memories[i] = new_id(), BYTES, i == 0);
  called_back = answer_with_own_body;
}

/* The start of an input. */
typedef struct {
  uint8_t operation, kernel, flags, operands;
  uint16_t length;
  uint8_t is_guarded, value;
} choice_t;

/* Serves one request: a choice, operands, and a body. The memories of operands are those of the worker, so that the rest of
 * a request is looked at. */
static void serve_one(const uint8_t *data, size_t size, uint32_t *value) {
  static const uint8_t operations[] = {TN_HOST_RUN, TN_HOST_RUN, TN_HOST_RUN, TN_HOST_KERNEL, TN_HOST_FETCH, TN_HOST_RELEASE_VALUE,
                                       TN_HOST_LOAD, TN_HOST_MEMORY, 0, 250};
  tn_host_operand_t operands[TN_HOST_OPERANDS];
  choice_t choice;
  memcpy(&choice, data, sizeof choice);
  data += sizeof choice, size -= sizeof choice;
  const size_t count = size / sizeof *operands < choice.operands % 6u ? size / sizeof *operands : choice.operands % 6u;
  if (count > 0) memcpy(operands, data, count * sizeof *operands);
  data += count * sizeof *operands, size -= count * sizeof *operands;
  for (size_t i = 0; i < count; i++) {
    operands[i].memory = known.memories[operands[i].memory % 2];
    operands[i].flags &= choice.value % 8 == 0 ? UINT32_MAX : 3;
    if (choice.value % 2 == 0) operands[i].offset %= BYTES, operands[i].length %= 256;
  }
  const uint8_t operation = operations[choice.operation % sizeof operations];
  const bool is_value = operation == TN_HOST_FETCH || operation == TN_HOST_RELEASE_VALUE;
  static uint8_t body[TN_HOST_BODY_SIZE];
  const size_t length = size < sizeof body ? size : sizeof body;
  memcpy(body, data, length);
  if (operation == TN_HOST_KERNEL && length >= sizeof known.library) memcpy(body, &known.library, sizeof known.library);
  guard(choice.is_guarded % 2 == 1);
  memcpy(slot_zero() + 1, operands, count * sizeof *operands);
  const tn_host_slot_t *answer = serve(
      (tn_host_slot_t){.operation = operation,
                       .target = is_value ? *value : operation == TN_HOST_RUN ? known.kernels[choice.kernel % 4] : new_id(),
                       .operands = choice.operands % 7 == 6 ? choice.length : (uint32_t)count,
                       .flags = choice.flags % 8u == 7 ? choice.flags : choice.flags % 4u,
                       .length = choice.value % 16 == 1 ? choice.length : 0},
      body, length, NULL);
  REQUIRE(answer->length <= TN_HOST_BODY_SIZE && answer->error <= TN_HOST_LOAD_ERROR);
  REQUIRE((answer->status == TN_OK) == (answer->error == TN_HOST_NO_ERROR));
  if (operation == TN_HOST_RUN && answer->status == TN_OK && answer->value != 0) *value = answer->value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint32_t value;
  if (known.library == 0) open_known();
  if (size < sizeof(choice_t)) return 0;
  serve_one(data, size, &value);
  return 0;
}
