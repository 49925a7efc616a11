import { ArgumentError, type Tensor, type TensorLike } from '@tenon/core'
import type { CallArguments, CallForm } from './call-function.ts'
import type { FrameCall } from './frames.ts'
import type { ListedShape, ResultSpec } from './listed-arguments.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** The operands of a call: tensors, also of another library, and tuples of them as nested arrays. */
export type OperandTuple = readonly (TensorLike | OperandTuple)[]

/** The results of a call: tensors and types, and tuples of them as nested arrays. */
export type ResultTuple = readonly (ResultSpec | ResultTuple)[]

/** The tensors of results, nested as the results. */
export type TensorTuple<Results extends ResultTuple> = {
  readonly [Index in keyof Results]: Results[Index] extends ResultTuple ? TensorTuple<Results[Index]> : Tensor
}

/** The return value of a call: a single result, which may be a tuple, or an array of all results. */
export type TupleResults<Results extends ResultTuple> = number extends Results['length']
  ? Tensor | TensorTuple<Results>
  : Results extends readonly [ResultSpec | ResultTuple]
    ? TensorTuple<Results>[0]
    : TensorTuple<Results>

/** The tuples in each other at which an argument is refused, because an array can contain itself. */
const DEEPEST = 64

/** The structure of operands or results: an array for a tuple, with `null` for each leaf. */
type Structure = null | readonly Structure[]

interface Side {
  readonly structure: readonly Structure[]
  readonly leaves: readonly unknown[]
}

interface TupleArguments extends CallArguments {
  /** Undefined for a call without tuples. */
  readonly structures?: { readonly operands: readonly Structure[]; readonly results: readonly Structure[] }
}

const hasTuples = (list: readonly unknown[]): boolean => list.some((value) => Array.isArray(value))

/** Reads the leaves of nested arrays, each of which is read once. @throws {ArgumentError} if they are nested too deep. */
function readSide(list: readonly unknown[], which: string): Side {
  const leaves: unknown[] = []
  const read = (values: readonly unknown[], depth: number): Structure[] => {
    if (depth === DEEPEST) throw new ArgumentError(`the ${which} must be nested at most ${DEEPEST} deep, got more`)
    return Array.from(values, (value) => {
      if (Array.isArray(value)) return read(value as unknown[], depth + 1)
      leaves.push(value)
      return null
    })
  }
  return { structure: read(list, 0), leaves }
}

/** Arranges leaves as their structure. */
function arrange(structure: readonly Structure[], leaves: readonly unknown[]): readonly unknown[] {
  let next = 0
  const nest = (one: readonly Structure[]): unknown[] =>
    one.map((part) => (part === null ? leaves[next++] : nest(part)))
  return nest(structure)
}

type Prepare<Call> = (shape: ListedShape) => Call

/**
 * Returns the form of calls that can have tuples among their operands and results. Calls without tuples are read as before.
 *
 * @param makeForm makes the form without tuples, which prepares calls by this function.
 */
export function tupleArguments<Call extends FrameCall>(
  makeForm: (prepare: Prepare<Call>) => CallForm<Call, CallArguments>,
  prepare: Prepare<Call>,
): CallForm<Call, TupleArguments> {
  const form = makeForm(prepare)
  return {
    ...form,
    read: (args, isAsync) => {
      const [operands, options] = args as [unknown, { readonly results?: unknown } | null | undefined]
      const results: unknown = options?.results
      const isFlat = !Array.isArray(operands) || !Array.isArray(results) || !(hasTuples(operands) || hasTuples(results))
      if (isFlat) return form.read(args, isAsync)
      const [first, last] = [readSide(operands, 'operands'), readSide(results, 'results')]
      const flat = form.read([first.leaves, { ...options, results: last.leaves }], isAsync)
      const structures = { operands: first.structure, results: last.structure }
      // Frames of other structures have other pointers.
      return { ...flat, variant: `${flat.variant ?? ''}${JSON.stringify(structures)}`, structures }
    },
    prepare: (args) => {
      const { structures } = args
      if (structures === undefined) return form.prepare(args)
      const nested = makeForm((shape) =>
        prepare({
          ...shape,
          operands: arrange(structures.operands, shape.operands) as ListedShape['operands'],
          results: arrange(structures.results, shape.results) as ListedShape['results'],
        }),
      )
      return nested.prepare(args)
    },
    valueOf: (args) => {
      const { structures, list, operandCount } = args
      if (structures === undefined) return form.valueOf(args)
      const values = arrange(structures.results, list.slice(FIRST_TENSOR + operandCount))
      return values.length === 1 ? values[0] : values
    },
  }
}
