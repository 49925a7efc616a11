import { hex } from '@tenon/core/internal'
import { MalformedTensorError, TensorLimitError } from './tstring-errors.ts'
import type { TenonError } from '@tenon/core'

/** What is wrong with a tensor: which check, at which element, the value found and the limit. */
export interface Fault {
  readonly check: Check
  readonly index: number
  readonly value: number
  readonly limit: number
}

/** The checks, with the C core's numbers. */
export const CHECK = {
  TABLE_SIZE: 1,
  STRUCT_TYPE: 2,
  SMALL_SIZE: 3,
  SMALL_NUL: 4,
  OFFSET_START: 5,
  OFFSET_END: 6,
  BUDGET: 7,
  OVERLAP: 8,
  LEGACY_OFFSET: 9,
  VARINT: 10,
  LEGACY_LENGTH: 11,
  VARINT_CANONICAL: 12,
  LEGACY_TIGHT: 13,
  TFLITE_HEADER: 14,
  TFLITE_COUNT: 15,
  TFLITE_FIRST: 16,
  TFLITE_RANGE: 17,
  TFLITE_ORDER: 18,
  TFLITE_TOTAL: 19,
  ARROW_RANGE: 20,
  ARROW_ORDER: 21,
  POINTER: 22,
  SELECTION: 23,
  STRING_LIMIT: 24,
  DISTANCE_LIMIT: 25,
  TOTAL_LIMIT: 26,
  CHANGED: 27,
} as const

export type Check = (typeof CHECK)[keyof typeof CHECK]

interface CheckInfo {
  /** The rule's name in the README. */
  readonly rule: string
  readonly text: (fault: Fault) => string
}

const element = (f: Fault, text: string): string => `element ${f.index}: ${text}`

const checks: Readonly<Record<Check, CheckInfo>> = {
  [CHECK.TABLE_SIZE]: {
    rule: 'table-size',
    text: (f) => `a table of ${f.index} elements must have ${f.limit} bytes for each, it has ${f.value} bytes in all`,
  },
  [CHECK.STRUCT_TYPE]: {
    rule: 'struct-type',
    text: (f) => element(f, `type ${f.value} holds a pointer, and pointers from outside are not followed`),
  },
  [CHECK.SMALL_SIZE]: {
    rule: 'small-size',
    text: (f) => element(f, `a SMALL holds at most ${f.limit} bytes, it says ${f.value}`),
  },
  [CHECK.SMALL_NUL]: {
    rule: 'small-nul',
    text: (f) => element(f, `a NUL must follow the ${f.limit} bytes of a SMALL, got ${hex(f.value)}`),
  },
  [CHECK.OFFSET_START]: {
    rule: 'offset-start',
    text: (f) => element(f, `an OFFSET must point behind the table of ${f.limit} bytes, it points to ${f.value}`),
  },
  [CHECK.OFFSET_END]: {
    rule: 'offset-end',
    text: (f) => element(f, `an OFFSET must end within the ${f.limit} bytes of the tensor, it ends at ${f.value}`),
  },
  [CHECK.BUDGET]: {
    rule: 'budget',
    text: (f) => element(f, `its ${f.value} bytes are more than the ${f.limit} left of the budget`),
  },
  [CHECK.OVERLAP]: {
    rule: 'overlap',
    text: (f) => element(f, `it starts at ${f.value}, inside another string that ends at ${f.limit}`),
  },
  [CHECK.LEGACY_OFFSET]: {
    rule: 'legacy-offset',
    text: (f) => element(f, `its offset must be below the ${f.limit} bytes of data, it is ${f.value}`),
  },
  [CHECK.VARINT]: {
    rule: 'varint',
    text: (f) =>
      element(f, `its length at offset ${f.value} must end within ten bytes and the ${f.limit} bytes of data`),
  },
  [CHECK.LEGACY_LENGTH]: {
    rule: 'legacy-length',
    text: (f) => element(f, `its length is ${f.value}, but ${f.limit} bytes are left`),
  },
  [CHECK.VARINT_CANONICAL]: {
    rule: 'varint-canonical',
    text: (f) => element(f, `its length takes ${f.value} bytes where ${f.limit} are enough`),
  },
  [CHECK.LEGACY_TIGHT]: {
    rule: 'legacy-tight',
    text: (f) => element(f, `strings must lie without gaps: ${f.limit} was expected, got ${f.value}`),
  },
  [CHECK.TFLITE_HEADER]: {
    rule: 'tflite-header',
    text: (f) => `the buffer must have the ${f.limit} bytes of its header, it has ${f.value}`,
  },
  [CHECK.TFLITE_COUNT]: {
    rule: 'tflite-count',
    text: (f) => `the header must count ${f.limit} strings, it says ${f.value}`,
  },
  [CHECK.TFLITE_FIRST]: {
    rule: 'tflite-first',
    text: (f) => `the first string must start at ${f.limit}, right behind the header, it starts at ${f.value}`,
  },
  [CHECK.TFLITE_RANGE]: {
    rule: 'tflite-range',
    text: (f) => element(f, `an offset must lie behind the header and within ${f.limit} bytes, it is ${f.value}`),
  },
  [CHECK.TFLITE_ORDER]: {
    rule: 'tflite-order',
    text: (f) => element(f, `offsets must not decrease: ${f.value} stands beside ${f.limit}`),
  },
  [CHECK.TFLITE_TOTAL]: {
    rule: 'tflite-total',
    text: (f) => `the last offset must be the size of the buffer, ${f.limit}, it is ${f.value}`,
  },
  [CHECK.ARROW_RANGE]: {
    rule: 'arrow-range',
    text: (f) => element(f, `its end must lie within the ${f.limit} bytes of data, it is ${f.value}`),
  },
  [CHECK.ARROW_ORDER]: {
    rule: 'arrow-order',
    text: (f) => element(f, `offsets must be positive and not decrease: ${f.value} stands before ${f.limit}`),
  },
  [CHECK.POINTER]: {
    rule: 'pointer',
    text: (f) => element(f, `${hex(f.value)} can't be the address of ${f.limit} bytes`),
  },
  [CHECK.SELECTION]: {
    rule: 'selection',
    text: (f) => `index ${f.index} names the element ${f.value} of a tensor that has ${f.limit}`,
  },
  [CHECK.STRING_LIMIT]: {
    rule: 'string-limit',
    text: (f) => element(f, `a string of this layout has at most ${f.limit} bytes, this one has ${f.value}`),
  },
  [CHECK.DISTANCE_LIMIT]: {
    rule: 'distance-limit',
    text: (f) => element(f, `an OFFSET reaches ${f.limit} bytes forward, ${f.value} are needed`),
  },
  [CHECK.TOTAL_LIMIT]: {
    rule: 'total-limit',
    text: (f) => `a tensor of this layout has at most ${f.limit} bytes, ${f.value} are needed at element ${f.index}`,
  },
  [CHECK.CHANGED]: {
    rule: 'changed',
    text: (f) => element(f, `the tensor changed while it was read: more than ${f.limit} bytes came`),
  },
}

/** The error that a fault is. */
export function faultError(
  fault: Fault,
  hint: string = 'split the tensor, or choose a layout with wider offsets.',
): TenonError {
  const { rule, text } = checks[fault.check]
  const isLimit = fault.check >= CHECK.STRING_LIMIT && fault.check <= CHECK.TOTAL_LIMIT
  const { index, value, limit } = fault
  const options = { details: { index, rule, value, limit } }
  if (isLimit) {
    return new TensorLimitError(`the tensor does not fit (${rule}): ${text(fault)}`, { ...options, hint })
  }
  return new MalformedTensorError(`the string tensor is not valid (${rule}): ${text(fault)}`, options)
}

/** Every rule's name, for documentation and its tests. */
export const ruleNames: readonly string[] = Object.values(checks).map(({ rule }) => rule)
