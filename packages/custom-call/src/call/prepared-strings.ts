import { ArgumentError, type Tensor, type TensorType } from '@tenon/core'
import { enterAll, exitAll, readStrings, type Gated } from '@tenon/core/internal'
import type { CallFrame } from '../native/call-frame.ts'
import { placeOf, type CallShape } from '../shape/call-shape.ts'
import type { CallTarget } from './call-target.ts'
import type { TensorUser } from './check-tensors.ts'
import { FIRST_TENSOR } from './operand-list.ts'
import { runOn, writePointers } from './run-call.ts'
import { checkStringsIn } from './string-calls.ts'

/** A prepared call, or the one for other sizes of it. */
interface Prepared extends TensorUser {
  readonly target: CallTarget
  readonly frame: CallFrame
  readonly shape: CallShape
  withTypes(types: readonly TensorType[]): Prepared | undefined
}

/** A run whose strings were checked. Nothing is held yet. */
interface CheckedRun {
  readonly user: Prepared
  /** Other memory to which the strings refer. */
  readonly regions: readonly Gated[]
}

/** Makes the steps of a prepared call with operands of strings, or returns undefined for a call without them. */
export function preparedStrings(call: Prepared): PreparedStrings | undefined {
  const { types, operandCount } = call.shape
  return types.some(({ strings }, i) => i < operandCount && strings !== undefined)
    ? new PreparedStrings(call)
    : undefined
}

/** The steps of a prepared call with operands of strings, whose elements are checked before each run. */
export class PreparedStrings {
  readonly #call: Prepared
  #latest: Prepared

  constructor(call: Prepared) {
    this.#call = call
    // The frame does not have its first sizes any more once it had others, so all runs set them.
    this.#latest = call.withTypes(call.shape.types) ?? call
  }

  /**
   * Replaces the strings in a list by the memory that the kernel reads. Code of the user may run.
   *
   * @throws {ArgumentError} with the operand that is not what the call was prepared for.
   */
  read(list: Gated[]): void {
    const { shape } = this.#call
    const { types, operandCount } = shape
    for (let i = 0; i < operandCount; i++)
      if (types[i]!.strings !== undefined) list[FIRST_TENSOR + i] = readOperand(shape, i, list[FIRST_TENSOR + i])
  }

  /**
   * Checks the elements of strings that were read. Code of the user must not run between this and the call.
   *
   * @param isCopied whether code of the user can change the strings during the run.
   * @throws {ArgumentError} with the element. @throws {ScopeClosedError} if memory of an element is closed.
   */
  check(list: Gated[], isCopied: boolean): CheckedRun {
    const { types: own, operandCount } = this.#call.shape
    const types = own.map((type, i) =>
      i < operandCount && type.strings !== undefined ? (list[FIRST_TENSOR + i] as Tensor).type : type,
    )
    const regions = checkStringsIn(list, { isCopied })
    if (types.some((type, i) => type !== this.#latest.shape.types[i]))
      this.#latest = this.#call.withTypes(types) ?? this.#call
    return { user: this.#latest, regions }
  }

  /** Runs the call on this thread. @throws as {@link read} and {@link check}, and the error of the run */
  run(list: Gated[]): void {
    this.read(list)
    const { user, regions } = this.check(list, false)
    enterAll(regions)
    try {
      runOn(user, list)
    } finally {
      exitAll(regions)
    }
  }
}

/** The operands of a bound call, whose strings can change and move between its runs. */
export class BoundStrings {
  readonly #strings: PreparedStrings
  readonly #frame: CallFrame
  readonly #values: readonly Gated[]

  /** @param values what the caller has bound, behind places for the call and its library. */
  constructor(strings: PreparedStrings, frame: CallFrame, values: readonly Gated[]) {
    this.#strings = strings
    this.#frame = frame
    this.#values = [...values]
  }

  /** Reads the strings as they are now. Code of the user may run. */
  read(): Gated[] {
    const list = [...this.#values]
    this.#strings.read(list)
    return list
  }

  /** Checks strings that were read, and writes their addresses. @returns the operands and the memory to which they refer */
  check(list: Gated[], isCopied: boolean): Gated[] {
    const { user, regions } = this.#strings.check(list, isCopied)
    writePointers(user, this.#frame, list)
    return [...list, ...regions]
  }
}

/** @throws {ArgumentError} if the strings are not those for which the call was prepared. */
function readOperand(shape: CallShape, index: number, value: unknown): Tensor {
  const place = placeOf(shape, index)
  const tensor = readStrings(value, place)
  const expected = shape.types[index]!
  const [own, other] = [expected.strings!, tensor.type.strings!]
  if (own.layout === other.layout && own.shape.join() === other.shape.join()) return tensor
  throw new ArgumentError(`${place} must be ${expected}, got ${tensor.type}`, {
    hint:
      own.layout === other.layout
        ? 'Prepare another call for this shape.'
        : `Convert the strings: words.to('${own.layout}').`,
    details: { path: place, expected: String(expected), received: String(tensor.type) },
  })
}
