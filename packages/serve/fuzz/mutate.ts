import type { Random } from './random.ts'

/** Texts that readers of HTTP and JSON treat in special ways. */
const TOKENS = [
  ...[
    '\r\n',
    '\r\n\r\n',
    '\n',
    '\0',
    ' ',
    '\t',
    ':',
    ',',
    ';',
    '%',
    '%00',
    '%2e%2e%2f',
    '\\u0000',
    '\\ud800',
    '\u{feff}',
  ],
  ...[
    '-1',
    '0',
    '1',
    '1e3',
    '1e400',
    '0x10',
    '9007199254740993',
    '18446744073709551616',
    '4294967295',
    'NaN',
    'null',
    'true',
  ],
  ...['[', ']', '[[', '{}', '[]', '""', '"', '__proto__', 'constructor', 'FP32', 'BYTES', 'BOOL', 'INT64', 'FP16'],
  ...[
    'chunked',
    'gzip',
    'deflate',
    'identity',
    'keep-alive',
    'close',
    '100-continue',
    'Transfer-Encoding: chunked\r\n',
  ],
  ...[
    'Content-Length: 5\r\n',
    'Content-Encoding: gzip\r\n',
    'Inference-Header-Content-Length: 3\r\n',
    'Expect: 100-continue\r\n',
  ],
  ...[
    'Accept-Encoding: gzip\r\n',
    'Connection: upgrade\r\nUpgrade: websocket\r\n',
    'GET /v2 HTTP/1.1\r\nhost: localhost\r\n\r\n',
  ],
]

/** Values that are wrong for most fields of a request. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 0.5, -0, 1e300, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 2 ** 53 - 1, 2 ** 40],
  ...[
    '',
    'x',
    'y',
    '0',
    '1',
    '-1',
    'FP32',
    'BYTES',
    'BOOL',
    'INT64',
    '__proto__',
    '\u{1f600}',
    '\ud800',
    '\0',
    'n'.repeat(5000),
  ],
  ...[[], {}, [[]], [null], [1, 2], [[1, 2]], { x: 1 }, Array.from({ length: 40 }, () => 1), [2 ** 40, 2 ** 40], [0]],
]

const PARAMETERS = [
  ...['binary_data', 'binary_data_size', 'binary_data_output', 'classification', 'priority', 'timeout', 'headers'],
  ...['sequence_id', 'sequence_start', 'sequence_end', 'shared_memory_region', 'shared_memory_offset'],
  ...['shared_memory_byte_size', 'triton_x', 'x', '__proto__'],
]

/** Changes one to four places of some bytes. @param others whose ends can become the end. */
export function mutateBytes(random: Random, bytes: Uint8Array, others: readonly Uint8Array[] = [bytes]): Buffer {
  let result: Buffer = Buffer.from(bytes)
  for (let left = 1 + random.below(4); left > 0; left--) result = changeBytes(random, result, others)
  return result
}

function changeBytes(random: Random, bytes: Buffer, others: readonly Uint8Array[]): Buffer {
  const at = random.below(bytes.length + 1)
  const length = random.below(random.pick([2, 8, 64]))
  const insert = (part: Uint8Array, replaced = 0): Buffer =>
    Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at + replaced)])
  switch (random.below(7)) {
    case 0:
      return insert(Buffer.from([random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)])]), 1)
    case 1:
      return insert(new Uint8Array(), length)
    case 2:
      return insert(bytes.subarray(at, at + length))
    case 3:
      return insert(Buffer.from(random.pick(TOKENS)), random.below(2) * length)
    case 4:
      return insert(Buffer.from(Array.from({ length }, () => random.below(256))))
    case 5:
      return insert(endOf(random, random.pick(others)), bytes.length)
    default:
      return insert(Buffer.from([(bytes[at] ?? 0) ^ (1 << random.below(8))]), 1)
  }
}

const endOf = (random: Random, bytes: Uint8Array): Uint8Array => bytes.subarray(random.below(bytes.length + 1))

/** Changes one to three values of some JSON. */
export function mutateJson(random: Random, json: unknown): unknown {
  const root = { json: structuredClone(json) }
  for (let left = 1 + random.below(3); left > 0; left--) {
    const places = placesIn(root)
    if (places.length > 0) changeJson(random, random.pick(places))
  }
  return root.json
}

/** A value within others. */
interface Place {
  readonly parent: Record<string, unknown>
  readonly key: string
}

/** All values of an object or an array, and those in them. */
function placesIn(parent: object): Place[] {
  return Object.entries(parent).flatMap(([key, value]) => [
    { parent: parent as Record<string, unknown>, key },
    ...(typeof value === 'object' && value !== null ? placesIn(value as object) : []),
  ])
}

/** A copy, because it is changed later. */
const anyValue = (random: Random): unknown => structuredClone(random.pick(VALUES))

function changeJson(random: Random, { parent, key }: Place): void {
  const value = parent[key]
  switch (random.below(8)) {
    case 0:
      delete parent[key]
      break
    case 1:
      parent[random.pick(PARAMETERS)] = anyValue(random)
      break
    case 2:
      if (Array.isArray(parent)) parent.push(value)
      else parent['parameters'] = { [random.pick(PARAMETERS)]: anyValue(random) }
      break
    default:
      parent[key] = anyValue(random)
  }
}
