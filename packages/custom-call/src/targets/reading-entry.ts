import { ArgumentError, Tensor } from '@tenon/core'
import { innermostCall, type Gated } from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { FIRST_TENSOR } from '../call/patch-pointers.ts'
import { InvalidArgumentError } from '../errors/xla-error-classes.ts'
import { readFrame, type ReadBuffer } from '../native/read-frame.ts'
import type { AttributeSchema, AttributesOutput } from '../schema/attribute-types.ts'
import type { ParameterSpec } from '../schema/parameter.ts'
import { readAttributes } from '../schema/read-attributes.ts'
import type { TargetSchema, TensorsFor } from '../schema/target-schema.ts'
import { endAnyway, fail, refusePromise } from './function-failure.ts'
import { LentMemory } from './lent-memory.ts'

/** A kernel in TypeScript for a declared target: as {@link TargetFunction}, and it gets the attributes. */
export type SchemaFunction<
  Operands extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Results extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Attributes extends AttributeSchema = AttributeSchema,
> = (operands: TensorsFor<Operands>, results: TensorsFor<Results>, attrs: AttributesOutput<Attributes>) => void

/** What native code calls for a declared target: sizes and attributes differ from call to call. Nothing may leave it. */
export function readingEntryOf(
  name: string,
  schema: TargetSchema,
  run: SchemaFunction,
): (argumentsAddress: number, call: number) => void {
  return (_, call) => {
    try {
      const { operands, results, attributes } = readFrame(call, name)
      checkBuffers(name, schema, operands, results)
      const attrs = readAttributes(schema.attrs, attributes, name) as AttributesOutput<AttributeSchema>
      const buffers = [...operands, ...results]
      const use = (tensors: readonly Tensor[]): void =>
        refusePromise(name, run(tensors.slice(0, operands.length), tensors.slice(operands.length), attrs))
      const given = givenTensors(buffers)
      if (given !== undefined) use(given)
      else useLent(name, buffers, operands.length, use)
    } catch (error) {
      fail(call, error)
    }
  }
}

/** @throws {InvalidArgumentError} if the buffers are not as declared */
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
    if (!(error instanceof ArgumentError)) throw error
    throw new InvalidArgumentError({
      xlaCode: 3,
      text: error.sentence,
      target: name,
      stage: 'execute',
      refused: true,
      cause: error,
    })
  }
}

/** The tensors of the run that calls, if the buffers are theirs: then nothing has to be mapped. */
function givenTensors(buffers: readonly ReadBuffer[]): readonly Tensor[] | undefined {
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

/** Maps memory that native code lends, until the function returns. */
function useLent(
  name: string,
  buffers: readonly ReadBuffer[],
  operandCount: number,
  use: (tensors: readonly Tensor[]) => void,
): void {
  const lent = new LentMemory(name)
  try {
    use(buffers.map(({ type, pointer }, i) => lent.tensor(pointer, type, i < operandCount)))
  } catch (error) {
    endAnyway(lent)
    throw error
  }
  lent.close()
}
