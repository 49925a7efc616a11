/* nnapi/: the check before a run. Accepted programs stay inside their memory. */
#include <math.h>

#include "check.h"
#include "fuzz/nnapi/nnapi_program.h"
#include "nnapi/half.h"

/* Runs the addition of two tensors of 4 after a change to the program. */
typedef void (*change_t)(tn_nn_program_t *program, tn_nn_tensor_t *tensors, tn_nn_step_t *step, uint32_t *operands);

static float numbers[3][4];

static int32_t outcome_of(change_t change, uint32_t *failed) {
  tn_nn_tensor_t tensors[3];
  for (int i = 0; i < 3; i++)
    tensors[i] =
        (tn_nn_tensor_t){.data = numbers[i], .count = 4, .type = TN_NN_FLOAT32, .rank = 1, .dimensions = {4, 1, 1, 1, 1, 1}};
  tn_nn_step_t step = {.operation = TN_NN_ADD, .input_count = 2};
  uint32_t operands[3] = {0, 1, 2};
  tn_nn_program_t program = {sizeof program, 1, 3, 3, tensors, &step, operands};
  if (change != NULL) change(&program, tensors, &step, operands);
  return tn_nn_check(&program, failed);
}

#define CHANGE(name, statement)                                                                                    \
  static void name(tn_nn_program_t *program, tn_nn_tensor_t *tensors, tn_nn_step_t *step, uint32_t *operands) { \
    (void)program, (void)tensors, (void)step, (void)operands;                                                     \
    statement;                                                                                                     \
  }

CHANGE(smaller_struct, program->struct_size -= 4)
CHANGE(higher_rank, tensors[0].rank = TN_NN_RANK + 1)
CHANGE(another_count, tensors[1].count = 5)
CHANGE(empty_axis, (tensors[1].dimensions[0] = 0, tensors[1].count = 0))
CHANGE(overflow, (tensors[1].rank = 3, tensors[1].dimensions[1] = tensors[1].dimensions[2] = INT32_MAX))
CHANGE(stray_scales, tensors[0].scales = numbers[0])
CHANGE(no_scale, tensors[0].type = TN_NN_QUANT8)
CHANGE(another_type, tensors[0].type = TN_NN_INT32)
CHANGE(another_shape, (tensors[2].dimensions[0] = 3, tensors[2].count = 3))
CHANGE(stray_operand, operands[2] = 3)
CHANGE(too_many_inputs, step->input_count = 3)
CHANGE(far_operands, step->first_operand = 1)
CHANGE(farthest_operands, step->first_operand = UINT32_MAX)
CHANGE(bad_activation, step->activation = 4)
CHANGE(negative_activation, step->activation = -1)

TEST(nnapi_invalid_programs_are_refused) {
  static const change_t changes[] = {smaller_struct, higher_rank,   another_count, empty_axis,      overflow,
                                     stray_scales,   no_scale,      another_type,  another_shape,   stray_operand,
                                     far_operands,   bad_activation, too_many_inputs, farthest_operands, negative_activation};
  uint32_t failed;
  CHECK(outcome_of(NULL, &failed) == TN_NN_OK);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) CHECK(outcome_of(changes[i], &failed) == TN_NN_BAD_PROGRAM);
  CHECK(tn_nn_check(NULL, &failed) == TN_NN_BAD_PROGRAM && failed == UINT32_MAX);
}

TEST(nnapi_runs_end_while_their_words_are_equal) {
  tn_nn_tensor_t tensors[2];
  for (int i = 0; i < 2; i++)
    tensors[i] =
        (tn_nn_tensor_t){.data = numbers[i], .count = 4, .type = TN_NN_FLOAT32, .rank = 1, .dimensions = {4, 1, 1, 1, 1, 1}};
  tn_nn_step_t step = {.operation = TN_NN_RELU, .input_count = 1};
  uint32_t operands[2] = {0, 1}, failed = 7, words[2] = {5, 5};
  tn_nn_program_t program = {sizeof program, 1, 2, 2, tensors, &step, operands};
  CHECK(tn_nn_run(&program, 0, 1, &failed) == TN_NN_OK);
  tn_nn_watch(words);
  CHECK(tn_nn_run(&program, 0, 1, &failed) == TN_NN_CANCELLED && failed == 0);
  words[1] = 4;
  CHECK(tn_nn_run(&program, 0, 1, &failed) == TN_NN_OK);
  tn_nn_watch(NULL);
}

CHANGE(unknown, step->operation = 12345)

TEST(nnapi_unknown_operations_are_refused) {
  uint32_t failed;
  CHECK(outcome_of(unknown, &failed) == TN_NN_UNKNOWN_OPERATION && failed == 0);
}

/* Programs that are accepted, as nnapi_run_bytes() reads them. */
static const uint8_t accepted[][63] = {
    /* conv */
    {3, 3, 3, 2, 2, 3, 3, 3, 3, 2, 2, 2, 2, 3, 4, 32, 1, 4, 4, 2, 1, 1, 0, 4, 32, 3, 2, 2, 2, 1, 1, 1, 0, 1, 32,
     3, 1, 1, 1, 1, 1, 1, 0, 4, 32, 1, 3, 3, 3, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* conv-channel */
    {3, 3, 5, 2, 2, 3, 3, 3, 3, 2, 2, 2, 2, 3, 12, 34, 1, 4, 4, 2, 1, 1, 0, 4, 36, 3, 2, 2, 2, 1, 1, 1, 0, 1, 33,
     3, 1, 1, 1, 1, 1, 1, 0, 4, 34, 1, 3, 3, 3, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* depthwise */
    {4, 3, 4, 3, 3, 3, 4, 4, 3, 2, 2, 2, 2, 3, 4, 35, 1, 4, 5, 2, 1, 1, 0, 4, 35, 1, 2, 2, 4, 1, 1, 1, 0, 1, 35,
     4, 1, 1, 1, 1, 1, 1, 0, 4, 35, 1, 2, 4, 4, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* depthwise-channel */
    {4, 3, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2, 2, 3, 4, 38, 1, 4, 5, 2, 1, 1, 0, 28, 36, 1, 2, 2, 4, 1, 1, 1, 0, 1, 33,
     4, 1, 1, 1, 1, 1, 1, 0, 4, 38, 1, 2, 4, 4, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* dense */
    {6, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 34, 2, 5, 1, 1, 1, 1, 0, 2, 34, 3, 5, 1, 1, 1, 1, 1, 0, 1, 33,
     3, 1, 1, 1, 1, 1, 1, 0, 2, 34, 2, 3, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* pool */
    {1, 1, 2, 3, 3, 4, 4, 4, 4, 2, 2, 2, 2, 3, 4, 32, 1, 4, 4, 3, 1, 1, 0, 4, 32, 1, 3, 3, 3, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* add */
    {0, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 32, 2, 1, 3, 1, 1, 1, 0, 2, 32, 4, 1, 1, 1, 1, 1, 1, 0, 3, 32,
     2, 4, 3, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* div */
    {16, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 1, 33, 5, 1, 1, 1, 1, 1, 0, 1, 33, 5, 1, 1, 1, 1, 1, 1, 0, 1, 33,
     5, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* softmax */
    {14, 1, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 34, 2, 3, 4, 1, 1, 1, 0, 3, 34, 2, 3, 4, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* gather */
    {20, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 32, 2, 3, 4, 1, 1, 1, 0, 1, 33, 2, 1, 1, 1, 1, 1, 1, 0, 3, 32,
     2, 2, 4, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* concatenation */
    {2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 34, 2, 3, 1, 1, 1, 1, 0, 2, 18, 2, 2, 1, 1, 1, 1, 1, 0, 2, 34,
     2, 5, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* transpose */
    {18, 1, 2, 4, 2, 3, 2, 2, 2, 2, 2, 2, 2, 3, 3, 35, 2, 3, 4, 1, 1, 1, 0, 3, 35, 4, 2, 3, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* resize */
    {24, 1, 2, 3, 2, 2, 2, 2, 2, 3, 2, 2, 2, 3, 4, 32, 1, 2, 3, 4, 1, 1, 0, 4, 32, 1, 2, 5, 5, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* nearest */
    {56, 1, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 34, 1, 3, 4, 2, 1, 1, 0, 4, 34, 1, 5, 1, 2, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* mean */
    {25, 1, 2, 7, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 35, 2, 3, 4, 1, 1, 1, 0, 1, 35, 3, 1, 1, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* all */
    {43, 1, 2, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 39, 2, 3, 1, 1, 1, 1, 0, 1, 39, 2, 1, 1, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* pad */
    {26, 1, 2, 3, 4, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 34, 2, 1, 1, 1, 1, 1, 0, 2, 34, 4, 5, 1, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* slice */
    {51, 1, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 35, 4, 5, 1, 1, 1, 1, 0, 2, 35, 2, 3, 1, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* tile */
    {53, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 33, 2, 1, 2, 1, 1, 1, 0, 3, 33, 4, 3, 4, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* top-k */
    {54, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 32, 3, 5, 1, 1, 1, 1, 0, 2, 32, 3, 4, 1, 1, 1, 1, 1, 0, 2, 33,
     3, 4, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* select */
    {50, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 39, 2, 3, 1, 1, 1, 1, 0, 2, 34, 2, 3, 1, 1, 1, 1, 1, 0, 2, 34,
     2, 3, 1, 1, 1, 1, 1, 0, 2, 34, 2, 3, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* less */
    {33, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 35, 2, 1, 1, 1, 1, 1, 0, 1, 35, 3, 1, 1, 1, 1, 1, 1, 0, 2, 39,
     2, 3, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* cast */
    {28, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 35, 2, 3, 1, 1, 1, 1, 0, 2, 34, 2, 3, 1, 1, 1, 1, 1, 0, 1, 32,
     1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* transposed-conv */
    {55, 3, 2, 3, 2, 4, 4, 2, 2, 2, 2, 2, 2, 3, 4, 32, 1, 2, 2, 3, 1, 1, 0, 4, 32, 2, 3, 3, 3, 1, 1, 1, 0, 1, 32,
     2, 1, 1, 1, 1, 1, 1, 0, 4, 32, 1, 5, 4, 2, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
    /* conv-channels-first */
    {3, 3, 2, 2, 2, 3, 3, 3, 3, 3, 2, 2, 2, 3, 4, 34, 1, 2, 4, 4, 1, 1, 0, 4, 34, 3, 2, 2, 2, 1, 1, 1, 0, 1, 33,
     3, 1, 1, 1, 1, 1, 1, 0, 4, 34, 1, 3, 3, 3, 1, 1, 1, 0, 1, 32, 1, 1, 1, 1, 1, 1, 1, 0},
};

TEST(nnapi_programs_with_random_changes_stay_inside_their_memory) {
  enum { KINDS = sizeof accepted / sizeof *accepted };
  uint64_t state = 1;
  uint32_t runs = 0;
  for (int round = 0; round < 200000; round++) {
    uint8_t bytes[sizeof *accepted];
    memcpy(bytes, accepted[round % KINDS], sizeof bytes);
    for (int change = round / KINDS % 6; change > 0; change--) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[(state >> 33) % sizeof bytes] = (uint8_t)(state >> 56);
    }
    int32_t outcome = nnapi_run_bytes(bytes, sizeof bytes);
    if (round < KINDS) CHECK(outcome != TN_NN_BAD_PROGRAM);
    runs += outcome != TN_NN_BAD_PROGRAM && outcome != TN_NN_UNKNOWN_OPERATION;
  }
  CHECK(runs > 200000 / 6);
}

TEST(nnapi_halves_are_the_nearest) {
  for (uint32_t half = 0; half < 0x7c00; half++) {
    double value = tn_nn__from_half((uint16_t)half), next = tn_nn__from_half((uint16_t)(half + 1));
    CHECK(tn_nn__to_half(value) == half && tn_nn__to_half(-value) == (half | 0x8000));
    if (half == 0x7bff) next = 65536;
    double middle = (value + next) / 2;
    CHECK(tn_nn__to_half(middle) == half + half % 2);
    CHECK(tn_nn__to_half(nextafter(middle, 0)) == half && tn_nn__to_half(nextafter(middle, 1e9)) == half + 1);
  }
  CHECK(isinf(tn_nn__from_half(0x7c00)) && tn_nn__to_half((double)INFINITY) == 0x7c00);
  CHECK(isnan(tn_nn__from_half(0x7e00)) && tn_nn__to_half((double)NAN) == 0x7e00);
}
