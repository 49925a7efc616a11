import type { KernelSignature } from '@tenon/core'
import { exampleOf } from '@tenon/core/internal'

/** Returns the instruction to pass attributes: `softmax(x, { temperature: 0.5 })`. */
export function attributesHint({ name, operands, attributes }: KernelSignature): string {
  const first = attributes.find(({ isOptional }) => !isOptional) ?? attributes[0]
  const values = first === undefined ? '{}' : `{ ${first.name}: ${exampleOf(first.type)} }`
  const required = operands.filter(({ kind, isToken }) => kind === 'one' && !isToken)
  return `Write ${name}(${[...required.map((one) => one.name), values].join(', ')}).`
}

/** Returns the instruction to prepare a call: `softmax.prepare([x])`. */
export function prepareHint({ name, operands }: KernelSignature): string {
  const required = operands.filter(({ kind, isToken }) => kind === 'one' && !isToken)
  return `Write ${name}.prepare([${required.map((one) => one.name).join(', ')}]).`
}
