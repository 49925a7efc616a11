import { ArgumentError, Tensor } from '@tenon/core'
import { innermostCall, type CallbackFunction, type Gated } from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { FIRST_TENSOR } from '../call/patch-pointers.ts'
import { refused } from '../errors/xla-error-classes.ts'
import { readFrame, type ReadBuffer } from '../native/read-frame.ts'
import type { AttributeSchema, AttributesOutput } from '../schema/attribute-types.ts'
import { readAttributes } from '../schema/read-attributes.ts'
import type { AttributesOf, TargetDefinition, TargetSchema, TensorsFor } from '../schema/target-schema.ts'
import { fail, refusePromise } from './function-failure.ts'
import { useLentMemory } from './lent-memory.ts'

/** A kernel in TypeScript for a declared target. It is a {@link TargetFunction} that also receives the attributes. */
export type SchemaFunction<Definition extends TargetDefinition = TargetDefinition> = (
  operands: TensorsFor<Definition['operands']>,
  results: TensorsFor<Definition['results']>,
  attrs: AttributesOutput<AttributesOf<Definition>>,
) => void

/** Makes the entry for a declared target, whose sizes and attributes differ from call to call. It never throws. */
export function readingEntry(name: string, schema: TargetSchema, run: SchemaFunction): CallbackFunction {
  return (_, call) => {
    try {
      const { operands, results, attributes } = readFrame(call, name)
      checkBuffers(name, schema, operands, results)
      const attrs = readAttributes(schema.attrs, attributes, name) as AttributesOutput<AttributeSchema>
      const buffers = [...operands, ...results]
      const use = (tensors: readonly Tensor[]): void =>
        refusePromise(name, run(tensors.slice(0, operands.length), tensors.slice(operands.length), attrs))
      const tensors = callersTensors(buffers)
      if (tensors !== undefined) use(tensors)
      else useLentMemory(name, buffers, operands.length, use)
    } catch (error) {
      fail(call, error)
    }
  }
}

/** Checks buffers against the declaration. @throws {InvalidArgumentError} */
function checkBuffers(
  name: string,
  schema: TargetSchema,
  operands: readonly ReadBuffer[],
  results: readonly ReadBuffer[],
): void {
  const typeOf = ({ type }: ReadBuffer): ReadBuffer['type'] => type
  try {
    schema.check(operands.map(typeOf), results.map(typeOf))
  } catch (error) {
    throw error instanceof ArgumentError ? refused('INVALID_ARGUMENT', name, error.sentence, { cause: error }) : error
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
