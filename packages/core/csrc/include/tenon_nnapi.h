/* The operations of the reference CPU driver of @tenon/pools, as plain loops over tensors. tn_nn_check() checks the
 * types, shapes and parameters of a program once; the caller guarantees that the memory of its tensors is large enough.
 * The contents of tensors are not trusted, because other processes may change them during a run. */
#ifndef TENON_NNAPI_H
#define TENON_NNAPI_H

#include "tenon.h"

#define TN_NN_RANK 6

/* Element types, with NNAPI's numbers. */
typedef enum {
  TN_NN_FLOAT32 = 3,
  TN_NN_INT32 = 4,
  TN_NN_QUANT8 = 5,
  TN_NN_FLOAT16 = 8,
  TN_NN_BOOL8 = 9, /* 0 is false, and any other value is true */
  TN_NN_QUANT8_PER_CHANNEL = 11, /* signed, with zero point 0 and a scale of `scales` for each channel */
  TN_NN_QUANT8_SYMM = 13,        /* signed, with zero point 0 */
  TN_NN_QUANT8_SIGNED = 14,
} tn_nn_type_t;

/* Operations, with NNAPI's numbers. */
typedef enum {
  TN_NN_ADD = 0,               TN_NN_AVERAGE_POOL_2D = 1,   TN_NN_CONCATENATION = 2,
  TN_NN_CONV_2D = 3,           TN_NN_DEPTHWISE_CONV_2D = 4, TN_NN_DEQUANTIZE = 6,
  TN_NN_FULLY_CONNECTED = 9,   TN_NN_LOGISTIC = 14,         TN_NN_MAX_POOL_2D = 17,
  TN_NN_MUL = 18,              TN_NN_RELU = 19,             TN_NN_RELU1 = 20,
  TN_NN_RELU6 = 21,            TN_NN_RESHAPE = 22,          TN_NN_RESIZE_BILINEAR = 23,
  TN_NN_SOFTMAX = 25,          TN_NN_TANH = 28,             TN_NN_DIV = 30,
  TN_NN_MEAN = 31,             TN_NN_PAD = 32,              TN_NN_SUB = 36,
  TN_NN_TRANSPOSE = 37,        TN_NN_ABS = 38,              TN_NN_ARGMAX = 39,
  TN_NN_CAST = 45,             TN_NN_EQUAL = 48,            TN_NN_EXP = 49,
  TN_NN_GATHER = 51,           TN_NN_GREATER = 53,          TN_NN_GREATER_EQUAL = 54,
  TN_NN_LESS = 58,             TN_NN_LESS_EQUAL = 59,       TN_NN_LOGICAL_AND = 61,
  TN_NN_LOGICAL_NOT = 62,      TN_NN_LOGICAL_OR = 63,       TN_NN_MAXIMUM = 65,
  TN_NN_MINIMUM = 66,          TN_NN_NEG = 67,              TN_NN_NOT_EQUAL = 68,
  TN_NN_PRELU = 71,            TN_NN_QUANTIZE = 72,         TN_NN_REDUCE_ALL = 75,
  TN_NN_REDUCE_ANY = 76,       TN_NN_REDUCE_MAX = 77,       TN_NN_REDUCE_MIN = 78,
  TN_NN_REDUCE_PROD = 79,      TN_NN_REDUCE_SUM = 80,       TN_NN_RSQRT = 83,
  TN_NN_SELECT = 84,           TN_NN_SLICE = 86,            TN_NN_SQRT = 88,
  TN_NN_TILE = 89,             TN_NN_TOPK_V2 = 90,          TN_NN_TRANSPOSE_CONV_2D = 91,
  TN_NN_RESIZE_NEAREST_NEIGHBOR = 94, TN_NN_HARD_SWISH = 99,
} tn_nn_operation_t;

/* Bounds of the result, with NNAPI's numbers. */
typedef enum { TN_NN_NONE = 0, TN_NN_BOUND_RELU = 1, TN_NN_BOUND_RELU1 = 2, TN_NN_BOUND_RELU6 = 3 } tn_nn_activation_t;

/* A row-major tensor, of 72 bytes, in memory of the caller that is aligned to its elements. */
typedef struct {
  void *data; /* ignored by tn_nn_check() */
  uint64_t count; /* elements */
  uint32_t type;
  uint32_t rank;
  uint32_t dimensions[TN_NN_RANK];
  float scale; /* the real value of a quantized value q is scale * (q - zero_point) */
  int32_t zero_point;
  const float *scales; /* one for each index of the channel axis; null for other types */
  uint32_t channel_axis;
  uint32_t reserved;
} tn_nn_tensor_t;

/* An operation, of 64 bytes. Its operands are indices of tensors: inputs, then outputs. */
typedef struct {
  uint32_t operation;
  uint32_t input_count;
  uint32_t first_operand; /* an index in the operands of the program */
  int32_t activation;
  int32_t numbers[10]; /* the parameters of the operation */
  float reals[2];
} tn_nn_step_t;

/* A program, of 40 bytes. */
typedef struct {
  uint32_t struct_size;
  uint32_t step_count;
  uint32_t tensor_count;
  uint32_t operand_count;
  const tn_nn_tensor_t *tensors;
  const tn_nn_step_t *steps;
  const uint32_t *operands;
} tn_nn_program_t;

/* Outcomes of a run. */
#define TN_NN_OK 0
#define TN_NN_UNKNOWN_OPERATION (-1)
#define TN_NN_BAD_INDEX (-2) /* GATHER: an index is outside the axis */
#define TN_NN_BAD_PROGRAM (-3)
#define TN_NN_DIVIDED_BY_ZERO (-4) /* DIV of integers */
#define TN_NN_CANCELLED (-5)       /* the words of tn_nn_watch() became equal */

/* Checks the types, shapes and parameters of all steps. Fails with TN_NN_BAD_PROGRAM or TN_NN_UNKNOWN_OPERATION, and
 * writes the index of the invalid step to `failed`, or UINT32_MAX for a tensor or the program itself. */
TN_API int32_t tn_nn_check(const tn_nn_program_t *program, uint32_t *failed);

/* Has all runs of this process end with TN_NN_CANCELLED while two words in memory that others may write are equal. They are
 * borrowed until the next call; null for none. Runs look between steps, and long steps more often. */
TN_API void tn_nn_watch(const uint32_t *words);

/* Runs `count` steps from `first` of a checked program; stops at the first that fails and writes its index. */
TN_API int32_t tn_nn_run(const tn_nn_program_t *program, uint32_t first, uint32_t count, uint32_t *failed);

#endif
