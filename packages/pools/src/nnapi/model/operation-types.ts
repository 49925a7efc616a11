/** HIDL's numbers of the reference driver's operations (`OperationType`). */
export const operationTypes = {
  ADD: 0,
  AVERAGE_POOL_2D: 1,
  CONCATENATION: 2,
  CONV_2D: 3,
  DEPTHWISE_CONV_2D: 4,
  DEQUANTIZE: 6,
  FULLY_CONNECTED: 9,
  LOGISTIC: 14,
  MAX_POOL_2D: 17,
  MUL: 18,
  RELU: 19,
  RELU1: 20,
  RELU6: 21,
  RESHAPE: 22,
  SOFTMAX: 25,
  TANH: 28,
  DIV: 30,
  SUB: 36,
  TRANSPOSE: 37,
  ARGMAX: 39,
  GATHER: 51,
  QUANTIZE: 72,
} as const

export type OperationName = keyof typeof operationTypes
