import type { TenonError } from '@tenon/core'
import { hex } from '@tenon/core/internal'
import { MalformedTensorError, TensorLimitError } from './tstring-errors.ts'

/**
 * The rules that a tensor can break, with the text of the error, in the order of the C core's numbers from 1 on. The README
 * explains them. A text has `{index}` of the element, `{value}` that was found, in hexadecimal as `{address}`, and `{limit}`.
 */
const rules = {
  'table-size': 'the table of {index} elements must have {limit} bytes for each, got {value} bytes in total',
  'struct-type': 'element {index}: the type must be SMALL or OFFSET, got {value}, whose pointer is not followed',
  'small-size': 'element {index}: a SMALL must have at most {limit} bytes, got {value}',
  'small-nul': 'element {index}: a NUL must follow the {limit} bytes of a SMALL, got {address}',
  'offset-start': 'element {index}: an OFFSET must start behind the table of {limit} bytes, got {value}',
  'offset-end': 'element {index}: an OFFSET must end within the {limit} bytes of the tensor, got {value}',
  budget: 'element {index}: the string must fit into the {limit} bytes left of the budget, got {value}',
  overlap: 'element {index}: the string must start behind the one that ends at {limit}, got {value}',
  'legacy-offset': 'element {index}: the offset must be below the {limit} bytes of data, got {value}',
  varint: 'element {index}: the length at offset {value} must end within ten bytes and the {limit} bytes of data',
  'legacy-length': 'element {index}: the length must be at most the {limit} bytes that are left, got {value}',
  'varint-canonical': 'element {index}: the length must take {limit} bytes, got {value}',
  'legacy-tight':
    'element {index}: strings must follow each other without gaps: the offset must be {limit}, got {value}',
  'tflite-header': 'the header must have {limit} bytes, got {value}',
  'tflite-count': 'the header must count {limit} strings, got {value}',
  'tflite-first': 'the first string must start at {limit}, right behind the header, got {value}',
  'tflite-range': 'element {index}: an offset must lie behind the header and within {limit} bytes, got {value}',
  'tflite-order': 'element {index}: offsets must not decrease, got {value} next to {limit}',
  'tflite-total': 'the last offset must be the size of the buffer, {limit}, got {value}',
  'arrow-range': 'element {index}: the string must end within the {limit} bytes of data, got {value}',
  'arrow-order': 'element {index}: offsets must be positive and not decrease, got {value} before {limit}',
  pointer: 'element {index}: the pointer must be the address of {limit} bytes, got {address}',
  selection: 'index {index}: the selected element must be below the {limit} elements of the tensor, got {value}',
  'string-limit': 'element {index}: a string of this layout must have at most {limit} bytes, got {value}',
  'distance-limit': 'element {index}: an OFFSET must start at most {limit} bytes ahead, got {value}',
  'total-limit': 'element {index}: a tensor of this layout must have at most {limit} bytes, got {value}',
  changed: 'element {index}: the strings must fit into the {limit} bytes measured before, but the tensor has changed',
} as const

export type Rule = keyof typeof rules

/** The names of all rules. The C core's number of a rule is its index here plus one. */
export const ruleNames: readonly Rule[] = Object.keys(rules) as Rule[]

/** Creates the error of a broken rule: a {@link TensorLimitError} for the limits of a target layout. */
export function ruleError(
  rule: Rule,
  index: number,
  value: number,
  limit: number,
  hint: string = 'Split the tensor, or choose a layout with wider offsets.',
): TenonError {
  const numbers: Readonly<Record<string, number | string>> = { index, value, limit, address: hex(value) }
  const text = rules[rule].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(numbers[name]))
  const details = { index, rule, value, limit }
  if (!rule.endsWith('-limit'))
    return new MalformedTensorError(`the string tensor is not valid (${rule}): ${text}`, { details })
  return new TensorLimitError(`the tensor does not fit (${rule}): ${text}`, { details, hint })
}
