import { inferOf, refused, type HostileRequest } from './hostile-request.ts'

/** A length of a text as the protocol has it. */
const length = (value: number): number[] => [...new Uint8Array(new Uint32Array([value]).buffer)]

const bytesOf = (count: number, bytes: readonly number[] | Uint8Array): Buffer => {
  const parameters = { binary_data_size: bytes.length }
  const json = JSON.stringify({ inputs: [{ name: 'x', datatype: 'BYTES', shape: [count], parameters }] })
  const body = Buffer.concat([Buffer.from(json), Uint8Array.from(bytes)])
  return inferOf('texts', body, { 'inference-header-content-length': json.length })
}

const wrong = (name: string, error: string, count: number, bytes: readonly number[] | Uint8Array): HostileRequest =>
  refused(name, 400, error, bytesOf(count, bytes))

const beyond = 'must end within'

/** Texts as bytes with their lengths before them. */
export const strings: readonly HostileRequest[] = [
  wrong('a text whose length is beyond the end', beyond, 1, [...length(5), 0x61]),
  wrong('a length of 2^32 - 1', beyond, 1, [...length(2 ** 32 - 1), 0x61]),
  wrong('a length of 2^31', beyond, 1, [...length(2 ** 31), 0x61]),
  wrong('a length in big-endian order', beyond, 1, [0, 0, 0, 1, 0x61]),
  wrong('half of a length', beyond, 1, [1, 0]),
  wrong('half of the second length', beyond, 2, [...length(1), 0x61, 1, 0, 0]),
  wrong('bytes behind the last text', 'got more', 1, [...length(1), 0x61, ...length(0)]),
  wrong('three bytes behind the last text', beyond, 1, [...length(1), 0x61, 0, 0, 0]),
  wrong('a text too few', 'must have 2 strings for its shape, got 1', 2, [...length(1), 0x61]),
  wrong('a text too many', 'must have 1 strings for its shape, got more', 1, [...length(0), ...length(0)]),
  wrong('no bytes', 'must have 1 strings for its shape, got 0', 1, []),
  wrong('bytes for no text', 'must have 0 strings for its shape, got more', 0, length(0)),
  refused('2^53 - 1 texts in four bytes', 413, 'at most 2097152 strings', bytesOf(2 ** 53 - 1, length(0))),
  refused('2,097,153 texts in four bytes', 413, 'at most 2097152 strings', bytesOf(2 ** 21 + 1, length(0))),
  wrong('2,097,152 texts in four bytes', 'must have 2097152 strings for its shape, got 1', 2 ** 21, length(0)),
  wrong('200,000 empty texts for one', 'must have 1 strings for its shape, got more', 1, new Uint8Array(800_000)),
  wrong('a text that is not UTF-8 in an answer of JSON', 'not UTF-8', 1, [...length(2), 0xc3, 0x28]),
  wrong('a surrogate in an answer of JSON', 'not UTF-8', 1, [...length(3), 0xed, 0xa0, 0x80]),
  wrong('an overlong form in an answer of JSON', 'not UTF-8', 1, [...length(2), 0xc0, 0x80]),
]
