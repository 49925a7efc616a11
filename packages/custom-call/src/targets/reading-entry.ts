import { ArgumentError, Tensor, type KernelSignature, type TensorType } from '@tenon/core'
import { innermostCall, resolveCall, type CallbackFunction, type CallType, type Gated } from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { group, withoutTokens } from '../call/kernel-shape.ts'
import { FIRST_TENSOR } from '../call/patch-pointers.ts'
import { refused } from '../errors/xla-error-classes.ts'
import { readFrame, type ReadBuffer } from '../native/read-frame.ts'
import type { AttributesOutput } from '../schema/attribute-types.ts'
import { readAttributes } from '../schema/read-attributes.ts'
import type { AttributesOf, TargetDefinition, TensorsFor } from '../schema/define-target.ts'
import { fail, refusePromise } from './function-failure.ts'
import { useLentMemory } from './lent-memory.ts'

/** A kernel in TypeScript for a declared target. It is a {@link TargetFunction} that also receives the attributes. */
export type SchemaFunction<Definition extends TargetDefinition = TargetDefinition> = (
  operands: TensorsFor<Definition['operands']>,
  results: TensorsFor<Definition['results']>,
  attrs: AttributesOutput<AttributesOf<Definition>>,
) => void

/** Makes the entry for a declared target, whose sizes and attributes differ from call to call. It never throws. */
export function readingEntry(name: string, signature: KernelSignature, run: SchemaFunction): CallbackFunction {
  return (_, call) => {
    try {
      const { operands, results, attributes } = readFrame(call, name)
      const attrs = readAttributes(signature.attributes, attributes, name)
      checkBuffers(signature, operands, results, attrs)
      const buffers = [...operands, ...results]
      const use = (tensors: readonly Tensor[]): void =>
        refusePromise(name, run(tensors.slice(0, operands.length), tensors.slice(operands.length), attrs as never))
      const tensors = callersTensors(buffers)
      if (tensors !== undefined) use(tensors)
      else useLentMemory(name, buffers, operands.length, use)
    } catch (error) {
      fail(call, error)
    }
  }
}

/** Checks buffers and attributes against the signature. @throws {InvalidArgumentError} */
function checkBuffers(
  signature: KernelSignature,
  operands: readonly ReadBuffer[],
  results: readonly ReadBuffer[],
  attributes: Readonly<Record<string, unknown>>,
): void {
  const grouped = (parameters: KernelSignature['operands'], buffers: readonly ReadBuffer[]): readonly CallType[] =>
    group<TensorType>(
      withoutTokens(parameters),
      buffers.map(({ type }) => type),
    )
  const expected = withoutTokens(signature.results).length
  try {
    const passed = grouped(signature.results, results)
    if (
      passed.length > expected ||
      passed.some((type, i) => type === undefined && signature.results[i]!.kind === 'one')
    ) {
      throw new ArgumentError(`${signature.name} has ${expected} results, got ${results.length}`)
    }
    resolveCall(signature, { operands: grouped(signature.operands, operands), attributes, results: passed })
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw refused('INVALID_ARGUMENT', signature.name, error.sentence, { cause: error })
  }
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
