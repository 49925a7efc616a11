import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Layout, MemoryLayout, type MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import { Linker, type NativeType, SymbolLookup, upcallStub } from '@tenon/scope/linker'
import { afterAll, beforeAll, expect, test } from 'vitest'

const scalars = {
  int8: 'int8_t',
  uint16: 'uint16_t',
  int32: 'int32_t',
  uint64: 'uint64_t',
  float32: 'float',
  float64: 'double',
} as const
type Scalar = keyof typeof scalars
const kinds = Object.keys(scalars) as Scalar[]

/** A member as C spells it, and its layout. */
interface Shape {
  readonly c: (name: string) => string
  readonly layout: Layout
}

let seed = 12_345
/** Numbers below a limit, the same in each run. */
const below = (limit: number): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
  return (seed >>> 8) % limit
}
const pick = <Value>(values: readonly Value[]): Value => values[below(values.length)]!

const scalar = (kind: Scalar): Shape => ({ c: (name) => `${scalars[kind]} ${name}`, layout: MemoryLayout[kind] })
const array = (kind: Scalar, count: number): Shape => ({
  c: (name) => `${scalars[kind]} ${name}[${count}]`,
  layout: MemoryLayout.sequence(MemoryLayout[kind] as Layout<number>, count),
})
const group = (keyword: 'struct' | 'union', members: readonly Shape[]): Shape => ({
  c: (name) => `${keyword} { ${members.map(({ c }, i) => `${c(`m${i}`)};`).join(' ')} } ${name}`,
  layout: MemoryLayout[keyword](Object.fromEntries(members.map(({ layout }, i) => [`m${i}`, layout]))),
})
const few = <Value>(make: () => Value): Value[] => Array.from({ length: 1 + below(3) }, make)

function shape(depth: number): Shape {
  const form = below(depth > 1 ? 2 : 4)
  if (form === 0) return scalar(pick(kinds))
  if (form === 1) return array(pick(kinds), 1 + below(4))
  return group(
    form === 2 ? 'struct' : 'union',
    few(() => shape(depth + 1)),
  )
}

const floats = scalar('float32')
const doubles = scalar('float64')
/** Unions that calling conventions pass differently, in registers for floats, in mixed words and in memory, and random ones. */
const unions: readonly Shape[] = [
  group('union', [floats]),
  group('union', [floats, group('struct', [floats, floats])]),
  group('union', [array('float32', 4), floats]),
  group('union', [doubles, array('float64', 2)]),
  group('union', [floats, doubles]),
  group('union', [floats, scalar('int32')]),
  group('union', [group('struct', [doubles, scalar('int8')]), array('float32', 4)]),
  group('union', [array('int8', 3)]),
  group('union', [array('int8', 17), doubles]),
  group('struct', [scalar('int8'), group('union', [floats, scalar('uint16')]), doubles]),
  ...Array.from({ length: 60 }, () =>
    group(
      'union',
      few(() => shape(0)),
    ),
  ),
]

/** The bytes that any member has: others are padding, which C does not keep. */
function defined(layout: Layout, at: number, bytes: Set<number>): Set<number> {
  if ('members' in layout) {
    const { members } = layout as unknown as { members: readonly { byteOffset: number; layout: Layout }[] }
    for (const member of members) defined(member.layout, at + member.byteOffset, bytes)
  } else if ('element' in layout) {
    const { element, elementCount } = layout as unknown as { element: Layout; elementCount: number }
    for (let i = 0; i < elementCount; i++) defined(element, at + i * element.byteSize!, bytes)
  } else if ('kind' in layout) {
    for (let i = 0; i < layout.byteSize!; i++) bytes.add(at + i)
  }
  return bytes
}

/** Each function takes unions among scalars, more than registers hold, and appends all to a log. */
const calls = unions.map((_, i) => {
  const count = 1 + below(7)
  return Array.from({ length: count }, (__, k) => (k === 0 ? i : below(3) === 0 ? pick(kinds) : below(unions.length)))
})

const source = `#include <stdint.h>
#include <string.h>
unsigned char bound_log[4096];
${unions.map(({ c }, i) => `typedef ${c(`u${i}`)};\nuint64_t size_${i}(void) { return sizeof(u${i}); }`).join('\n')}
${calls
  .map((types, i) => {
    const names = types.map((type) => (typeof type === 'number' ? `u${type}` : scalars[type]))
    const list = names.map((name, k) => `${name} a${k}`).join(', ')
    const body = names.map((_, k) => `memcpy(at, &a${k}, sizeof a${k}); at += sizeof a${k};`).join(' ')
    return `u${i} call_${i}(${list}) { unsigned char *at = bound_log; ${body} return a0; }
u${i} back_${i}(u${i} (*run)(${list}), ${list}) { return run(${names.map((_, k) => `a${k}`).join(', ')}); }`
  })
  .join('\n')}
`

const directory = mkdtempSync(join(tmpdir(), 'tenon-unions-'))
const scope = ResourceScope.ofConfined()
let library: SymbolLookup
let log: MemorySegment
beforeAll(() => {
  const file = join(directory, 'unions.c')
  writeFileSync(file, source)
  const path = join(directory, 'libunions.so')
  execFileSync(process.env['CC'] ?? 'cc', ['-O1', '-shared', '-fPIC', '-o', path, file])
  library = SymbolLookup.ofLibrary(path, scope)
  log = library.get('bound_log').reinterpret(4096)
})
afterAll(() => {
  scope.close()
  rmSync(directory, { recursive: true })
})

const typeOf = (type: number | Scalar): NativeType =>
  typeof type === 'number' ? (unions[type]!.layout as never) : type

test.each(calls.map((types, i) => [i, types] as const))('union %i passes and returns its bytes', (i, types) => {
  const size = Linker.downcall(library.get(`size_${i}`), { result: 'uint64' })
  expect(size()).toBe(BigInt(unions[i]!.layout.byteSize!))
  const parameters = types.map(typeOf)
  using memory = NativeScope.ofConfined()
  const bytes: number[] = []
  const places: number[] = []
  const values = types.map((type) => {
    const layout = typeof type === 'number' ? unions[type]!.layout : MemoryLayout[type]
    const segment = memory.allocate(layout.byteSize!, 16)
    const start = bytes.length
    for (let k = 0; k < layout.byteSize!; k++) {
      // No number that is read from these bytes is a NaN.
      segment.setUint8(k, 1 + below(120))
      bytes.push(segment.getUint8(k))
    }
    for (const place of defined(layout, 0, new Set())) places.push(start + place)
    return typeof type === 'number' ? segment : segment.get(layout as Layout<unknown>, 0)
  })
  const own = [...defined(unions[i]!.layout, 0, new Set())]
  const expectValue = (value: MemorySegment): void =>
    expect(own.map((place) => value.getUint8(place))).toEqual(own.map((place) => bytes[place]))

  const call = Linker.downcall(library.get(`call_${i}`), {
    result: typeOf(i) as never,
    parameters: parameters as never,
  })
  expectValue((call as unknown as (...all: unknown[]) => MemorySegment)(memory, ...values))
  expect(places.map((place) => log.getUint8(place))).toEqual(places.map((place) => bytes[place]))

  const given: unknown[] = []
  const stub = upcallStub(
    (...all: unknown[]) => {
      const first = all[0] as MemorySegment
      given.push(
        ...all.map((value) => (value instanceof Object ? (value as MemorySegment).toArray(MemoryLayout.uint8) : value)),
      )
      return memory.allocate(first.byteSize, 16).copyFrom(first)
    },
    { result: typeOf(i), parameters } as never,
    scope,
  )
  const back = Linker.downcall(library.get(`back_${i}`), {
    result: typeOf(i) as never,
    parameters: ['pointer', ...parameters] as never,
  })
  expectValue((back as unknown as (...all: unknown[]) => MemorySegment)(memory, stub, ...values))
  let start = 0
  types.forEach((type, k) => {
    const layout = typeof type === 'number' ? unions[type]!.layout : MemoryLayout[type]
    if (typeof type === 'number') {
      const read = given[k] as Uint8Array
      for (const place of defined(layout, 0, new Set())) expect(read[place]).toBe(bytes[start + place])
    } else {
      expect(given[k]).toEqual(values[k])
    }
    start += layout.byteSize!
  })
})
