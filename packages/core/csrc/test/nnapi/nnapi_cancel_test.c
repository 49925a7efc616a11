/* nnapi/: long operations end when the run is cancelled while they run. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "tenon_nnapi.h"

enum { ROWS = 2048, COLUMNS = 2048, COUNT = ROWS * COLUMNS, UNTOUCHED = 0xa5 };

/* An operation of one or more tensors of zeros. */
typedef struct {
  uint32_t operation, inputs, types[4]; /* of the inputs, then of the output */
  int is_repeated; /* the second input has one row */
  int32_t numbers[4];
} long_t;

#define F TN_NN_FLOAT32
#define I TN_NN_INT32
#define B TN_NN_BOOL8
#define Q TN_NN_QUANT8

static const long_t operations[] = {
    {TN_NN_ADD, 2, {F, F, F}, 0, {0}},           {TN_NN_MUL, 2, {Q, Q, Q}, 0, {0}},
    {TN_NN_ADD, 2, {F, F, F}, 1, {0}},           {TN_NN_SUB, 2, {I, I, I}, 0, {0}},
    {TN_NN_EQUAL, 2, {F, F, B}, 0, {0}},         {TN_NN_LOGICAL_OR, 2, {B, B, B}, 0, {0}},
    {TN_NN_RELU, 1, {F, F}, 0, {0}},             {TN_NN_TANH, 1, {Q, Q}, 0, {0}},
    {TN_NN_NEG, 1, {I, I}, 0, {0}},              {TN_NN_LOGICAL_NOT, 1, {B, B}, 0, {0}},
    {TN_NN_CAST, 1, {I, F}, 0, {0}},             {TN_NN_QUANTIZE, 1, {F, Q}, 0, {0}},
    {TN_NN_DEQUANTIZE, 1, {Q, F}, 0, {0}},       {TN_NN_SELECT, 3, {B, F, F, F}, 0, {0}},
    {TN_NN_TRANSPOSE, 1, {F, F}, 0, {1, 0}},     {TN_NN_TILE, 1, {F, F}, 0, {0}},
    {TN_NN_PAD, 1, {F, F}, 0, {0}},              {TN_NN_SOFTMAX, 1, {F, F}, 0, {1}},
    {TN_NN_SLICE, 1, {Q, Q}, 0, {0}},
};

/* Runs an operation whose result is written over the words of tn_nn_watch(), so that they become equal while it runs.
 * Returns whether it ended then, before the end of its result. */
static int ends(const long_t *chosen, uint8_t *const memory[4]) {
  tn_nn_tensor_t tensors[4];
  const uint32_t operands[] = {0, 1, 2, 3}, count = chosen->inputs + 1;
  for (uint32_t i = 0; i < count; i++) {
    tensors[i] = (tn_nn_tensor_t){.data = memory[i], .count = COUNT, .type = chosen->types[i], .rank = 2};
    tensors[i].dimensions[0] = ROWS;
    tensors[i].dimensions[1] = COLUMNS;
    if (chosen->types[i] == Q) tensors[i].scale = 1.0f / 128, tensors[i].zero_point = 128;
    memset(memory[i], 0, COUNT * sizeof(float));
  }
  if (chosen->is_repeated) {
    tensors[1].rank = 1;
    tensors[1].dimensions[0] = COLUMNS;
    tensors[1].count = COLUMNS;
  }
  uint8_t *result = memory[chosen->inputs];
  memset(result, UNTOUCHED, COUNT * sizeof(float));
  uint32_t *words = (uint32_t *)(void *)(result + 64);
  words[0] = 1;
  words[1] = 2;
  tn_nn_step_t step = {.operation = chosen->operation, .input_count = chosen->inputs, .reals = {1}};
  memcpy(step.numbers, chosen->numbers, sizeof chosen->numbers);
  const tn_nn_program_t program = {sizeof program, 1, count, count, tensors, &step, operands};
  const size_t size = chosen->types[chosen->inputs] == F || chosen->types[chosen->inputs] == I ? 4 : 1;
  uint32_t failed = 7;
  if (tn_nn_check(&program, &failed) != TN_NN_OK) return 0;
  tn_nn_watch(words);
  const int32_t outcome = tn_nn_run(&program, 0, 1, &failed);
  tn_nn_watch(NULL);
  if (outcome != TN_NN_CANCELLED || failed != 0 || words[0] != words[1]) return 0;
  if (result[COUNT * size - 1] != UNTOUCHED) return 0;
  /* Without words to watch it runs to its end. */
  return tn_nn_run(&program, 0, 1, &failed) == TN_NN_OK && result[COUNT * size - 1] != UNTOUCHED;
}

TEST(nnapi_long_operations_end_when_they_are_cancelled) {
  uint8_t *memory[4];
  for (int i = 0; i < 4; i++) CHECK((memory[i] = malloc(COUNT * sizeof(float))) != NULL);
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    if (ends(&operations[i], memory)) continue;
    check_fail(__FILE__, __LINE__, "operation %u, the entry %zu, does not end", operations[i].operation, i);
    break;
  }
  for (int i = 0; i < 4; i++) free(memory[i]);
}

/* Scalars have no axes, and long rows are divided. */
TEST(nnapi_sums_of_scalars_and_of_long_rows_are_right) {
  float one = 1, two = 2, sum = 0;
  tn_nn_tensor_t tensors[3] = {{.data = &one, .count = 1, .type = F}, {.data = &two, .count = 1, .type = F},
                               {.data = &sum, .count = 1, .type = F}};
  tn_nn_step_t step = {.operation = TN_NN_PRELU, .input_count = 2};
  const uint32_t operands[] = {0, 1, 2};
  const tn_nn_program_t program = {sizeof program, 1, 3, 3, tensors, &step, operands};
  uint32_t failed;
  CHECK(tn_nn_check(&program, &failed) == TN_NN_OK && tn_nn_run(&program, 0, 1, &failed) == TN_NN_OK && sum == 1);

  enum { LONG = 3 * 1024 * 1024 + 5 };
  float *from = malloc(LONG * sizeof(float)), *to = calloc(LONG, sizeof(float));
  CHECK(from != NULL && to != NULL);
  for (int i = 0; i < LONG; i++) from[i] = (float)i;
  tensors[0] = tensors[2] = (tn_nn_tensor_t){.data = from, .count = LONG, .type = F, .rank = 1, .dimensions = {LONG}};
  tensors[2].data = to;
  step.operation = TN_NN_ADD;
  CHECK(tn_nn_check(&program, &failed) == TN_NN_OK && tn_nn_run(&program, 0, 1, &failed) == TN_NN_OK);
  int wrong = 0;
  for (int i = 0; i < LONG; i++) wrong += to[i] != from[i] + 2;
  CHECK(wrong == 0);
  free(from);
  free(to);
}
