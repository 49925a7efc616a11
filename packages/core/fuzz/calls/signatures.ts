import type { Abi } from '../../src/native/call/call-plan.ts'
import { Random } from './random.ts'
import { type CType, makeStruct, scalarsOf, scalarTypes, type Signature, sizeOf, type Struct } from './types.ts'

const MAXIMUM_STRUCT = 64

/** The types that C passes after `...` without promoting them. */
const variadicTypes = ['int32', 'uint32', 'int64', 'uint64', 'float64', 'pointer'] as const

/** Generates the signature with this number. */
function randomSignature(seed: number, index: number): Signature {
  const random = new Random(seed, index)
  const structs = new StructGenerator(random, `s${index}`)
  const count = random.chance(0.02) ? 60 : random.below(21)
  const isVariadic = count > 0 && random.chance(0.15)
  // Variadic arguments in registers need few fixed ones.
  const fixedParameters = isVariadic ? 1 + random.below(random.chance(0.6) ? Math.min(2, count) : count) : undefined
  const structShare = random.pick([0, 0.3, 0.6])
  // Many arguments of one kind exhaust the registers of this kind only.
  const scalars = random.pick([
    scalarTypes,
    scalarTypes,
    ['float32', 'float64', 'int32'],
    ['int8', 'bool', 'uint64'],
  ] as const)
  const parameters = Array.from({ length: count }, (_, i): CType => {
    if (random.chance(structShare)) return structs.next()
    return fixedParameters !== undefined && i >= fixedParameters ? random.pick(variadicTypes) : random.pick(scalars)
  })
  const result = random.chance(0.1) ? 'void' : random.chance(0.45) ? structs.next() : random.pick(scalarTypes)
  return { result, parameters, fixedParameters }
}

/** Generates `count` signatures by number. */
export const signatureRange = (seed: number, first: number, count: number): Map<number, Signature> =>
  new Map(Array.from({ length: count }, (_, i) => [first + i, randomSignature(seed, first + i)]))

/**
 * Whether callers of the signature follow the convention. Clang 14 widens small fixed arguments of variadic calls on Apple's
 * stack, which its own callees do not expect.
 */
export const canCallBack = (abi: Abi, { fixedParameters }: Signature): boolean =>
  abi !== 'apple-arm64' || fixedParameters === undefined

/**
 * Whether all elements of an array are aligned if the first one is. By the System V ABI, a struct with unaligned members is in memory, and
 * plans have it there. gcc 12 looks at the first element of an array only, and passes such a struct in registers.
 */
function hasAlignedElements(type: CType): boolean {
  return scalarsOf(type).every((scalar) => sizeOf(type) % sizeOf(scalar.type) === 0)
}

class StructGenerator {
  readonly #random: Random
  readonly #prefix: string
  readonly #made: Struct[] = []

  constructor(random: Random, prefix: string) {
    this.#random = random
    this.#prefix = prefix
  }

  next(): Struct {
    const random = this.#random
    if (this.#made.length > 2 && random.chance(0.4)) return random.pick(this.#made)
    return random.pick([() => this.#mixed(), () => this.#mixed(), () => this.#small(), () => this.#floats()])()
  }

  #make(members: readonly { type: CType; count?: number | undefined }[], pack?: number): Struct {
    const made = makeStruct(`${this.#prefix}_${this.#made.length}`, members, pack)
    this.#made.push(made)
    return made
  }

  #mixed(): Struct {
    const random = this.#random
    const members: { type: CType; count?: number | undefined }[] = []
    let room = 8 + random.below(MAXIMUM_STRUCT - 8)
    const wanted = 1 + random.below(6)
    while (members.length < wanted) {
      const type = this.#member(room)
      const elements = random.chance(0.2) ? 1 + random.below(4) : undefined
      const count = elements === undefined || hasAlignedElements(type) ? elements : 1
      // Each member takes its own alignment at most.
      const size = sizeOf(type) * (count ?? 1) + 7
      if (size > room) break
      members.push({ type, count })
      room -= size
    }
    if (members.length === 0) members.push({ type: random.pick(scalarTypes) })
    return this.#make(members, random.chance(0.25) ? random.pick([1, 2, 4]) : undefined)
  }

  #member(room: number): CType {
    const usable = this.#made.filter(({ size }) => size <= room)
    if (usable.length > 0 && this.#random.chance(0.3)) return this.#random.pick(usable)
    return this.#random.pick(scalarTypes)
  }

  /** A struct of at most two words, which most ABIs pass in registers. */
  #small(): Struct {
    const random = this.#random
    const types = random.chance(0.5) ? scalarTypes : (['float32', 'int32', 'float64', 'int8'] as const)
    const members: { type: CType }[] = []
    let room = 16
    do {
      const type = random.pick(types)
      room -= sizeOf(type)
      if (room >= 0) members.push({ type })
    } while (room > 0 && random.chance(0.7))
    return this.#make(members, random.chance(0.15) ? 1 : undefined)
  }

  /** A homogeneous aggregate of floats, or one that is almost one: with five floats, or with floats of both sizes. */
  #floats(): Struct {
    const random = this.#random
    const type = random.pick(['float32', 'float64'] as const)
    const count = 1 + random.below(5)
    if (random.chance(0.3)) return this.#make([{ type, count }])
    const members: { type: CType; count?: number }[] = Array.from({ length: count }, () => ({ type }))
    if (random.chance(0.15)) members[0] = { type: 'float32' }
    const made = this.#make(members)
    if (count > 2 || random.chance(0.6)) return made
    return this.#make([{ type: made }, random.chance(0.5) ? { type } : { type: made }])
  }
}
