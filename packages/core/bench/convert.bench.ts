import type { Contestants, Suite } from '@tenon/bench'
import { from, tensor, type DType } from '@tenon/core'

/** The elements of each conversion. */
const COUNT = 65_536

const numbers = Float32Array.from({ length: COUNT }, (_, i) => Math.sin(i) * 2 ** (i % 7))
const numberBits = new Uint32Array(numbers.buffer)

const word = new Uint32Array(1)
const wordValue = new Float32Array(word.buffer)

/** Conversions as programs without a library write them: by the bits of float32, by a table, or by the engine. */
const loops = {
  bfloat16: {
    decode() {
      const [codes, words] = [from(numbers).to('bf16').view(), new Uint32Array(COUNT)]
      return () => {
        for (let i = 0; i < COUNT; i++) words[i] = codes[i]! << 16
      }
    },
    encode() {
      const codes = new Uint16Array(COUNT)
      return () => {
        for (let i = 0; i < COUNT; i++) {
          const bits = numberBits[i]!
          codes[i] = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16
        }
      }
    },
  },
  float16: {
    decode() {
      const [halves, result] = [from(numbers).to('f16').view(Float16Array), new Float32Array(COUNT)]
      return () => result.set(halves)
    },
    encode() {
      const halves = new Float16Array(COUNT)
      return () => halves.set(numbers)
    },
  },
  float8_e4m3fn: {
    decode() {
      const codes = from(numbers).to('float8_e4m3fn').view()
      const all = tensor(
        'float8_e4m3fn',
        [256],
        Uint8Array.from({ length: 256 }, (_, i) => i),
      )
      const [table, result] = [all.to('f32').view(), new Float32Array(COUNT)]
      return () => {
        for (let i = 0; i < COUNT; i++) result[i] = table[codes[i]!]!
      }
    },
    encode() {
      const codes = new Uint8Array(COUNT)
      return () => {
        for (let i = 0; i < COUNT; i++) {
          const bits = numberBits[i]!
          const magnitude = bits & 0x7fffffff
          let code = (magnitude + 0x7ffff + ((magnitude >>> 20) & 1)) >>> 20
          if (magnitude < 121 << 23) {
            word[0] = magnitude
            wordValue[0] = wordValue[0]! + 2 ** 14
            code = (word[0] - (141 << 23)) >>> 0
          } else {
            code -= 120 << 3
          }
          codes[i] = magnitude > 0x7f800000 ? 127 : ((bits >>> 24) & 128) | (code > 126 ? 126 : code)
        }
      }
    },
  },
  int4: {
    decode() {
      const [codes, result] = [from(numbers).to('int4').view(), new Float32Array(COUNT)]
      return () => {
        for (let i = 0; i < COUNT; i++) result[i] = (codes[i]! << 28) >> 28
      }
    },
    encode() {
      const codes = new Int8Array(COUNT)
      return () => {
        for (let i = 0; i < COUNT; i++) {
          const value = Math.min(Math.max(numbers[i]!, -8), 7)
          codes[i] = (value + 1.5 * 2 ** 52 - 1.5 * 2 ** 52) & 15
        }
      }
    },
  },
} satisfies Partial<Record<DType, { decode: () => () => void; encode: () => () => void }>>

const decoding = (dtype: keyof typeof loops): Contestants => {
  const [x, into] = [from(numbers).to(dtype), tensor('f32', [COUNT])]
  return { ours: () => x.to('f32', { into }), peers: { 'JavaScript loop': loops[dtype].decode() } }
}

const encoding = (dtype: keyof typeof loops): Contestants => {
  const [x, into] = [from(numbers), tensor(dtype, [COUNT])]
  return { ours: () => x.to(dtype as DType, { into }), peers: { 'JavaScript loop': loops[dtype].encode() } }
}

export const suite: Suite = {
  package: '@tenon/core',
  rows: (Object.keys(loops) as (keyof typeof loops)[]).flatMap((dtype) => [
    { name: `64 Ki elements of ${dtype} to float32`, unit: 'ns', setup: () => decoding(dtype) },
    { name: `64 Ki elements of float32 to ${dtype}`, unit: 'ns', setup: () => encoding(dtype) },
  ]),
}
