import { Random } from '../../../core/fuzz/calls/random.ts'
import { signatureRange } from '../../../core/fuzz/calls/signatures.ts'
import { type CType, isStruct, makeStruct, type ScalarType, type Struct } from '../../../core/fuzz/calls/types.ts'

/** A union whose first member is the largest, so that it has all bytes of the value. */
export interface Union {
  readonly union: string
  readonly whole: CType
  readonly others: readonly ScalarType[]
}

/** An enumeration, whose values lie in an `int` or an `unsigned`. */
export interface Enum {
  readonly enum: string
  readonly values: readonly number[]
}

/** A parameter that C declares in another way than the scalars and structs of the calls alone. */
export type Parameter =
  | {
      readonly kind: 'value'
      readonly type: CType
      readonly isConst: boolean
      readonly enum?: Enum
      readonly union?: Union
    }
  | { readonly kind: 'text' }
  | { readonly kind: 'array'; readonly of: ScalarType; readonly count: number; readonly isConst: boolean }
  | { readonly kind: 'bytes'; readonly count: number }
  | { readonly kind: 'struct'; readonly type: Struct; readonly isConst: boolean }
  | { readonly kind: 'callback'; readonly result: CType | 'void'; readonly parameters: readonly CType[] }

/** The result of a function. */
export type Result =
  | { readonly kind: 'void' }
  | { readonly kind: 'text' }
  | { readonly kind: 'value'; readonly type: CType; readonly enum?: Enum; readonly union?: Union }

/** A function of the generated library. */
export interface RandomFunction {
  readonly name: string
  readonly result: Result
  readonly parameters: readonly Parameter[]
  /** The arguments behind `...`, or undefined for a function that takes none. */
  readonly rest: readonly (CType | 'text')[] | undefined
}

/** Far from the numbers of functions, so that the structs of callbacks have names of their own. */
const CALLBACKS = 1_000_000

/** Generates functions by number, with the signatures of `pnpm fuzz calls`. */
export function randomFunctions(seed: number, count: number): RandomFunction[] {
  return [...signatureRange(seed, 0, count)].map(([index, { result, parameters, fixedParameters }]) => {
    const maker = new FunctionMaker(seed, index)
    return {
      name: `f${index}`,
      result: maker.result(result),
      parameters: parameters.slice(0, fixedParameters).map((type) => maker.parameter(type)),
      rest:
        fixedParameters === undefined ? undefined : parameters.slice(fixedParameters).map((type) => maker.rest(type)),
    }
  })
}

class FunctionMaker {
  readonly #random: Random
  readonly #seed: number
  readonly #index: number
  #made = 0

  constructor(seed: number, index: number) {
    this.#random = new Random(seed ^ 0xb1dd, index)
    this.#seed = seed
    this.#index = index
  }

  #name(prefix: string): string {
    return `${prefix}${this.#index}_${this.#made++}`
  }

  result(type: CType | 'void'): Result {
    if (type === 'void') return { kind: 'void' }
    if (type === 'pointer' && this.#random.chance(0.7)) return { kind: 'text' }
    const named = this.#named(type)
    return { kind: 'value', type: named.union?.whole ?? type, ...named }
  }

  parameter(type: CType): Parameter {
    const random = this.#random
    if (type === 'pointer' || random.chance(0.1)) return this.#pointer(type)
    const named = this.#named(type)
    return { kind: 'value', type: named.union?.whole ?? type, isConst: random.chance(0.1), ...named }
  }

  rest(type: CType): CType | 'text' {
    if (isStruct(type)) return 'int64'
    return type === 'pointer' && this.#random.chance(0.6) ? 'text' : type
  }

  /** An enumeration in place of some integers, and a union in place of some structs. */
  #named(type: CType): { readonly enum?: Enum; readonly union?: Union } {
    const random = this.#random
    if ((type === 'int32' || type === 'uint32') && random.chance(0.3)) {
      const least = type === 'int32' ? -(2 ** 31) : 2 ** 31
      return { enum: { enum: this.#name('e'), values: [least, 0, 1 + random.below(1000), 2 ** 31 - 1] } }
    }
    if (!isStruct(type) || random.chance(0.75)) return {}
    const of = random.pick(['int8', 'uint16', 'int32', 'uint64', 'float32', 'float64'] as const)
    const count = 1 + random.below(4)
    const whole = makeStruct(this.#name('w'), [{ type: of, count }])
    const others = (['uint8', 'int16', 'uint32', 'float32', 'int64', 'float64'] as const).filter(
      (other) => makeStruct('', [{ type: other }]).size <= whole.size / 2 && random.chance(0.5),
    )
    return { union: { union: this.#name('u'), whole, others } }
  }

  #pointer(type: CType): Parameter {
    const random = this.#random
    if (isStruct(type)) return { kind: 'struct', type, isConst: random.chance(0.7) }
    const of = random.pick(['int8', 'uint8', 'int16', 'uint32', 'int64', 'uint64', 'float32', 'float64'] as const)
    return random.pick<() => Parameter>([
      () => ({ kind: 'text' }),
      () => ({ kind: 'text' }),
      () => ({ kind: 'array', of, count: 1 + random.below(5), isConst: random.chance(0.5) }),
      () => ({ kind: 'bytes', count: 1 + random.below(20) }),
      () => ({ kind: 'value', type: 'pointer', isConst: false }),
      () => this.#callback(),
    ])()
  }

  #callback(): Parameter {
    const index = CALLBACKS + 100 * this.#index + this.#made++
    const { result, parameters } = signatureRange(this.#seed, index, 1).get(index)!
    return { kind: 'callback', result, parameters: parameters.slice(0, 5) }
  }
}
