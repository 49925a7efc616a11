/* Programs whose tables, and tensors whose memory, end at a page without access. */
#include "check.h"
#include "posix/guard_page.h"
#include "tenon_nnapi.h"

enum { TENSORS = 3, MOST = 67 };

static tn_nn_tensor_t vector(void *data, uint32_t count, uint32_t type) {
  const int is_quantized = type == TN_NN_QUANT8 || type == TN_NN_QUANT8_SIGNED;
  return (tn_nn_tensor_t){.data = data,
                          .count = count,
                          .type = type,
                          .rank = 1,
                          .dimensions = {count, 1, 1, 1, 1, 1},
                          .scale = is_quantized ? 0.5f : 0};
}

TEST(nnapi_programs_that_are_cut_off_are_refused_and_not_read_beyond) {
  guard_page_t programs, tables[3];
  CHECK(guard_page_open(&programs, sizeof(tn_nn_program_t)));
  for (int i = 0; i < 3; i++) CHECK(guard_page_open(&tables[i], 1024));
  tn_nn_tensor_t tensors[TENSORS];
  for (int i = 0; i < TENSORS; i++) tensors[i] = vector(NULL, 4, TN_NN_FLOAT32);
  const tn_nn_step_t step = {.operation = TN_NN_ADD, .input_count = 2};
  const uint32_t operands[TENSORS] = {0, 1, 2};
  for (uint32_t steps = 0; steps <= 1; steps++) {
    for (uint32_t n = 0; n <= TENSORS; n++) {
      for (uint32_t m = 0; m <= TENSORS; m++) {
        const tn_nn_program_t program = {sizeof program,
                                         steps,
                                         n,
                                         m,
                                         guard_page_copy(&tables[0], tensors, n * sizeof *tensors),
                                         guard_page_copy(&tables[1], &step, steps * sizeof step),
                                         guard_page_copy(&tables[2], operands, m * sizeof *operands)};
        uint32_t failed = 7;
        const int32_t status = tn_nn_check(guard_page_copy(&programs, &program, sizeof program), &failed);
        if (steps == 0 || (n == TENSORS && m == TENSORS))
          CHECK(status == TN_NN_OK);
        else
          CHECK(status == TN_NN_BAD_PROGRAM && failed == 0);
      }
    }
  }
  for (uint32_t size = sizeof(uint32_t); size < sizeof(tn_nn_program_t); size += (uint32_t)sizeof(uint64_t)) {
    const tn_nn_program_t program = {.struct_size = size};
    uint32_t failed = 7;
    CHECK(tn_nn_check(guard_page_copy(&programs, &program, size), &failed) == TN_NN_BAD_PROGRAM);
    CHECK(failed == UINT32_MAX);
  }
  for (int i = 0; i < 3; i++) guard_page_close(&tables[i]);
  guard_page_close(&programs);
}

static const struct {
  uint32_t operation, inputs;
} operations[] = {
    {TN_NN_ADD, 2},  {TN_NN_SUB, 2},   {TN_NN_MUL, 2},        {TN_NN_MAXIMUM, 2},
    {TN_NN_EXP, 1},  {TN_NN_RELU, 1},  {TN_NN_RELU6, 1},      {TN_NN_MINIMUM, 2},
    {TN_NN_ABS, 1},  {TN_NN_TANH, 1},  {TN_NN_LOGISTIC, 1},   {TN_NN_RESHAPE, 1},
    {TN_NN_NEG, 1},  {TN_NN_RSQRT, 1}, {TN_NN_HARD_SWISH, 1}, {TN_NN_SOFTMAX, 1},
};

static size_t element_size(uint32_t type) {
  return type == TN_NN_FLOAT32 || type == TN_NN_INT32 ? 4 : type == TN_NN_FLOAT16 ? 2 : 1;
}

TEST(nnapi_operations_of_every_length_stay_inside_their_tensors) {
  static const uint32_t types[] = {TN_NN_FLOAT32, TN_NN_INT32, TN_NN_FLOAT16, TN_NN_QUANT8, TN_NN_QUANT8_SIGNED};
  guard_page_t memory[TENSORS];
  for (int i = 0; i < TENSORS; i++) CHECK(guard_page_open(&memory[i], MOST * sizeof(float)));
  uint32_t runs = 0;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
      for (uint32_t count = 1; count <= MOST; count++) {
        const uint32_t inputs = operations[i].inputs;
        tn_nn_tensor_t tensors[TENSORS];
        for (int n = 0; n < TENSORS; n++)
          tensors[n] = vector(guard_page_last(&memory[n], count * element_size(types[k])), count, types[k]);
        const tn_nn_step_t step = {.operation = operations[i].operation, .input_count = inputs, .reals = {1, 1}};
        const uint32_t operands[TENSORS] = {0, 1, 2};
        const tn_nn_program_t program = {sizeof program, 1, TENSORS, inputs + 1, tensors, &step, operands};
        uint32_t failed;
        /* Some operations do not have all types. */
        if (tn_nn_check(&program, &failed) != TN_NN_OK) break;
        CHECK(tn_nn_run(&program, 0, 1, &failed) == TN_NN_OK);
        runs++;
      }
    }
  }
  for (int i = 0; i < TENSORS; i++) guard_page_close(&memory[i]);
  CHECK(runs == 72 * MOST);
}
