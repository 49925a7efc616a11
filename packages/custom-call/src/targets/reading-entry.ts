import { ArgumentError, Tensor, type KernelSignature, type TensorType } from '@tenon/core'
import {
  innermostCall,
  resolveCall,
  withLayout,
  type ArgumentsFor,
  type AttributesOutput,
  type CallbackFunction,
  type CallType,
  type Gated,
  type OperandsOf,
  type ResultsOf,
} from '@tenon/core/internal'
import type { Attribute } from '../attributes/attribute.ts'
import { readAttributes } from '../attributes/read-attributes.ts'
import { BoundCall } from '../call/bound-call.ts'
import { layoutsByPosition, signatureLayouts, type KernelLayouts } from '../call/kernel-layouts.ts'
import { group, withoutTokens, type Grouped } from '../call/kernel-parameters.ts'
import { FIRST_TENSOR } from '../call/operand-list.ts'
import { refused } from '../errors/xla-error-classes.ts'
import { readFrame, type ReadBuffer } from '../native/read-frame.ts'
import { fail, refusePromise } from './function-failure.ts'
import { useLentMemory } from './lent-memory.ts'
import { stringArguments } from './string-arguments.ts'

/**
 * A kernel in TypeScript. The function reads the operands and the attributes and writes the results, whose contents are initially
 * undefined. It borrows the tensors until it returns. An error that the function throws becomes the error of the call. The function
 * must not return a promise.
 *
 * Operands and results of strings are tensors of the class `StringTensor`, which the function may keep: operands are copies, and results are
 * empty strings at first. What the function has set is copied to the caller when it returns, with a block of malloc for each string that does
 * not fit into its struct, which the caller owns.
 */
export type TargetFunction<Text extends string = string> = (
  operands: ArgumentsFor<OperandsOf<Text>>,
  results: ArgumentsFor<ResultsOf<Text>>,
  attributes: AttributesOutput<Text, Attribute>,
) => void

/** Makes the entry for a function whose sizes and attributes differ from call to call. It never throws. */
export function readingEntry(name: string, signature: KernelSignature, run: TargetFunction): CallbackFunction {
  const strings = stringArguments(name, signature)
  const layouts = signatureLayouts(withoutTokens(signature.operands), withoutTokens(signature.results))
  return (_, call) => {
    try {
      const { attributes, ...read } = readFrame(call, name)
      const [operands, results] = strings?.typed(read.operands, read.results) ?? [read.operands, read.results]
      const attrs = readAttributes(signature.attributes, attributes, name)
      checkBuffers(signature, operands, results, attrs)
      const all = [...operands, ...results]
      const buffers = layouts.isPlain ? all : inLayouts(signature, layouts, operands, results, all)
      const use = (tensors: readonly unknown[]): void => {
        const [first, rest] = [tensors.slice(0, operands.length), tensors.slice(operands.length)] as Tensor[][]
        refusePromise(name, run(first!, rest!, attrs))
      }
      if (strings !== undefined) {
        return useLentMemory(name, buffers, operands.length, (tensors) => strings.run(tensors, operands.length, use))
      }
      const tensors = callersTensors(buffers)
      if (tensors !== undefined) use(tensors)
      else useLentMemory(name, buffers, operands.length, use)
    } catch (error) {
      fail(call, error)
    }
  }
}

/** The types of buffers by parameter. */
function typesOf(parameters: KernelSignature['operands'], buffers: readonly ReadBuffer[]): Grouped<TensorType> {
  return group<TensorType>(
    withoutTokens(parameters),
    buffers.map(({ type }) => type),
  )
}

/** Checks buffers and attributes against the signature. @throws {InvalidArgumentError} */
function checkBuffers(
  signature: KernelSignature,
  operands: readonly ReadBuffer[],
  results: readonly ReadBuffer[],
  attributes: Readonly<Record<string, unknown>>,
): void {
  const own = withoutTokens(signature.results)
  const temps = signature.temps.length
  try {
    const passed = typesOf(signature.results, results.slice(0, Math.max(results.length - temps, 0)))
    if (
      results.length < temps ||
      passed.length > own.length ||
      passed.some((type, i) => type === undefined && own[i]!.kind === 'one')
    ) {
      throw new ArgumentError(`${signature.name} has ${own.length + temps} results, got ${results.length}`)
    }
    const operandTypes = typesOf(signature.operands, operands)
    const resolved = resolveCall(signature, {
      operands: operandTypes as readonly CallType[],
      attributes,
      results: passed as readonly CallType[],
    })
    const scratch = results.slice(results.length - temps)
    if (scratch.some(({ type }, i) => type !== resolved.temps[i])) {
      throw new ArgumentError(`the temporaries of ${signature.name} must be ${resolved.temps.join(', ')}`)
    }
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw refused('INVALID_ARGUMENT', signature.name, error.sentence, { cause: error })
  }
}

/** Returns the buffers with the types of their memory. */
function inLayouts(
  signature: KernelSignature,
  layouts: KernelLayouts,
  operands: readonly ReadBuffer[],
  results: readonly ReadBuffer[],
  all: readonly ReadBuffer[],
): readonly ReadBuffer[] {
  const own = results.slice(0, results.length - signature.temps.length)
  const found = layoutsByPosition(layouts, typesOf(signature.operands, operands), typesOf(signature.results, own))
  const byPosition = [...(found.operands ?? []), ...(found.results ?? [])]
  return all.map((buffer, i) => {
    const layout = byPosition[i]
    return layout === undefined ? buffer : { ...buffer, type: withLayout(buffer.type, layout) }
  })
}

/** Returns the tensors of the run in progress if the buffers are theirs, so that nothing has to be mapped. */
function callersTensors(buffers: readonly ReadBuffer[]): readonly Tensor[] | undefined {
  const frame = innermostCall()
  const held: readonly Gated[] | undefined = frame?.[0] instanceof BoundCall ? frame[0].bound : frame
  if (held?.length !== FIRST_TENSOR + buffers.length) return undefined
  const tensors = held.slice(FIRST_TENSOR)
  const isTheirs = buffers.every(({ type, pointer }, i) => {
    const tensor = tensors[i]
    return tensor instanceof Tensor && tensor.type === type && BigInt(tensor.address) === pointer
  })
  return isTheirs ? (tensors as unknown as Tensor[]) : undefined
}
