import { Random } from '../../../core/fuzz/calls/random.ts'
import { type CType, sizeOf } from '../../../core/fuzz/calls/types.ts'
import type { Parameter, RandomFunction, Result } from './random-functions.ts'
import { Hash, randomBytes } from './values.ts'

/** The value of an argument, or of a result. */
export type Value =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'text'; readonly text: string | null }
  | { readonly kind: 'callback'; readonly received: readonly Uint8Array[]; readonly returned: Uint8Array }

/** One call of a function: what it gets, returns and must have hashed. */
export interface Round {
  readonly arguments: readonly Value[]
  readonly rest: readonly Value[]
  readonly result: Value
  readonly hash: bigint
}

/** A function with calls of it. */
export interface Case {
  readonly function: RandomFunction
  readonly rounds: readonly Round[]
}

const ROUNDS = 3

/** Chooses the values of the calls of a function. */
export function makeCase(one: RandomFunction, seed: number, index: number): Case {
  const random = new Random(seed ^ 0xca5e, index)
  return { function: one, rounds: Array.from({ length: ROUNDS }, () => makeRound(one, random)) }
}

function makeRound({ parameters, rest = [], result }: RandomFunction, random: Random): Round {
  const values = parameters.map((one) => argument(one, random))
  const more = rest.map((type) => (type === 'text' ? textValue(random) : bytesValue(type, random)))
  const hash = new Hash()
  parameters.forEach((one, i) => hashArgument(hash, one, values[i]!))
  rest.forEach((type, i) => {
    const value = more[i]!
    if (value.kind === 'text') hash.text(value.text)
    else if (value.kind === 'bytes') hash.bytes(type as CType, value.bytes)
  })
  return { arguments: values, rest: more, result: resultValue(result, random), hash: hash.value }
}

const TEXTS = ['', 'a', 'grün', '\u{1f600} and more', 'x'.repeat(300), '"\\n', null]
const textValue = (random: Random): Value => ({ kind: 'text', text: random.pick(TEXTS) })

const bytesValue = (type: CType, random: Random): Value => ({ kind: 'bytes', bytes: randomBytes(type, random) })

/** The bytes of one of the constants of an enumeration. */
function enumValue(values: readonly number[], random: Random): Value {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, random.pick(values), true)
  return { kind: 'bytes', bytes }
}

function resultValue(one: Result, random: Random): Value {
  if (one.kind === 'void') return { kind: 'bytes', bytes: new Uint8Array() }
  if (one.kind === 'text') return textValue(random)
  return one.enum ? enumValue(one.enum.values, random) : bytesValue(one.type, random)
}

function argument(one: Parameter, random: Random): Value {
  switch (one.kind) {
    case 'text':
      return textValue(random)
    case 'value':
      return one.enum ? enumValue(one.enum.values, random) : bytesValue(one.type, random)
    case 'struct':
      return bytesValue(one.type, random)
    case 'array':
      return {
        kind: 'bytes',
        bytes: Buffer.concat(Array.from({ length: one.count }, () => randomBytes(one.of, random))),
      }
    case 'bytes':
      return { kind: 'bytes', bytes: random.bytes(one.count) }
    case 'callback':
      return {
        kind: 'callback',
        received: one.parameters.map((type) => randomBytes(type, random)),
        returned: one.result === 'void' ? new Uint8Array() : randomBytes(one.result, random),
      }
  }
}

function hashArgument(hash: Hash, one: Parameter, value: Value): void {
  if (value.kind === 'text') hash.text(value.text)
  else if (value.kind === 'callback') {
    if (one.kind === 'callback' && one.result !== 'void') hash.bytes(one.result, value.returned)
  } else if (one.kind === 'value' || one.kind === 'struct') hash.bytes(one.type, value.bytes)
  else if (one.kind === 'bytes') for (const byte of value.bytes) hash.word(BigInt(byte))
  else if (one.kind === 'array') {
    const size = sizeOf(one.of)
    for (let at = 0; at < value.bytes.length; at += size) hash.bytes(one.of, value.bytes.subarray(at, at + size))
  }
}
