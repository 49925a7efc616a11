import type { KernelSignature, Parameter, Tensor, TensorType } from '@tenon/core'
import {
  copiedBuffer,
  emptyStrings,
  freeStrings,
  giveStrings,
  heldOperand,
  innermostCall,
  lentStrings,
  requireStringClass,
  stringSize,
  stringType,
  type Gated,
} from '@tenon/core/internal'
import { hasStrings, withoutTokens } from '../call/kernel-parameters.ts'
import { refused } from '../errors/xla-error-classes.ts'
import type { ReadBuffer } from '../native/read-frame.ts'

/** The steps of a function in TypeScript whose signature has strings. */
export interface StringArguments {
  /** Gives the buffers of strings the types of strings. @throws {InvalidArgumentError} if the shape of strings is not known */
  typed(operands: readonly ReadBuffer[], results: readonly ReadBuffer[]): readonly [ReadBuffer[], ReadBuffer[]]
  /** Runs a function with tensors of strings in the places of their memory, and writes the strings of results there. */
  run(
    tensors: readonly Tensor[],
    operandCount: number,
    use: (values: readonly (Tensor | ReturnType<typeof lentStrings>)[]) => void,
  ): void
}

/** Makes the steps, or returns undefined for a signature without strings. @throws {UnsupportedError} without the class of string tensors */
export function stringArguments(name: string, signature: KernelSignature): StringArguments | undefined {
  const [own, given] = [withoutTokens(signature.operands), withoutTokens(signature.results)]
  if (![...own, ...given].some(hasStrings)) return undefined
  requireStringClass(name)
  const placeOf = (parameters: readonly Parameter[], index: number): string =>
    `${parameterAt(parameters, index)!.name} of ${name}`
  const typed = (parameters: readonly Parameter[], buffers: readonly ReadBuffer[]): ReadBuffer[] =>
    buffers.map((buffer, i) => {
      const layout = parameterAt(parameters, i)?.stringLayout
      const type = layout && typeOfStrings(layout, buffer, () => placeOf(parameters, i), name)
      return type === undefined ? buffer : { ...buffer, type }
    })
  return {
    typed: (operands, results) => [typed(own, operands), typed(given, results)],
    run: (tensors, operandCount, use) => {
      const held = heldNow()
      const values = tensors.map((tensor, i) => {
        if (tensor.type.strings === undefined) return tensor
        return i < operandCount ? lentStrings(tensor, held, placeOf(own, i)) : emptyStrings(tensor.type)
      })
      use(values)
      const written: Tensor[] = []
      try {
        for (let i = operandCount; i < tensors.length; i++) {
          const [table, value] = [tensors[i]!, values[i]!]
          if (value === table) continue
          giveStrings(value as ReturnType<typeof emptyStrings>, table, placeOf(given, i - operandCount))
          written.push(table)
        }
      } catch (error) {
        written.forEach(freeStrings)
        throw error
      }
    },
  }
}

/** The operands of the innermost call, which the caller holds. */
const heldNow = (): readonly Gated[] => innermostCall() ?? []

function parameterAt(parameters: readonly Parameter[], index: number): Parameter | undefined {
  const last = parameters.at(-1)
  return parameters[index] ?? (last?.kind === 'remaining' ? last : undefined)
}

const COUNT_SIZE = 4

/** Returns the type of a buffer that is the memory of strings; undefined for another buffer. @throws {InvalidArgumentError} */
function typeOfStrings(
  layout: NonNullable<Parameter['stringLayout']>,
  { type, pointer }: ReadBuffer,
  place: () => string,
  target: string,
): TensorType | undefined {
  const { dtype, shape, byteSize } = type
  const size = stringSize(layout)
  if (dtype !== 'uint8') return undefined
  if (size !== 0) return shape.at(-1) === size ? stringType(layout, shape.slice(0, -1)) : undefined
  if (shape.length !== 1) return undefined
  const known = heldOperand(heldNow(), { address: Number(pointer) })?.type
  if (known?.strings?.layout === layout && known.byteSize === byteSize) return known
  if (layout === 'tflite') {
    const count =
      byteSize < COUNT_SIZE || pointer === 0n ? 0 : new Uint32Array(copiedBuffer(Number(pointer), COUNT_SIZE))[0]!
    return stringType(layout, [count], byteSize)
  }
  const text = `the number of strings of ${place()} is not known, because native code passes a buffer of the layout ${layout}`
  throw refused('INVALID_ARGUMENT', target, text)
}
