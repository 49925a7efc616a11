import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { MemoryLayout, type MemorySegment, NativeScope } from '@tenon/scope'
import type { NativeModule } from '@tenon/scope/bind'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../../src/index.ts'
import { runTenon } from '../run-tenon.ts'
import type { Bound } from './bound-store.ts'
import { typeCheck } from './type-check.ts'

// In the package, so that the modules find tenon.
const directory = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), 'unions-'))
afterAll(() => rmSync(directory, { recursive: true }))

let seed = 54_321
/** Numbers below a limit, the same in each run. */
const below = (limit: number): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
  return (seed >>> 8) % limit
}
const pick = <Value>(values: readonly Value[]): Value => values[below(values.length)]!

/** The members of a struct or union as C spells them, and the paths of the members that are not structs. */
interface Members {
  readonly c: string
  readonly paths: readonly string[]
}

let names = 0
function scalar(): Members {
  const name = `m${names++}`
  const type = pick(['int8_t', 'uint16_t', 'int32_t', 'uint64_t', 'float', 'double', 'void *'])
  return { c: `${type} ${name}${below(4) === 0 ? `[${1 + below(4)}]` : ''};`, paths: [name] }
}

/** A member that is a scalar, an array, or a struct or union with or without a name, which may be packed. */
function member(depth: number): Members {
  if (depth > 2 || below(2) === 0) return scalar()
  const { c, paths } = group(depth)
  if (below(2) === 0) return { c: `${c};`, paths }
  const name = `m${names++}`
  return { c: `${c} ${name};`, paths: paths.map((path) => `${name}.${path}`) }
}

function group(depth: number, keyword = pick(['struct', 'union'])): Members {
  const members = Array.from({ length: 1 + below(3) }, () => member(depth + 1))
  const packed = below(5) === 0 ? ' __attribute__((packed))' : ''
  return {
    c: `${keyword} { ${members.map(({ c }) => c).join(' ')} }${packed}`,
    paths: members.flatMap(({ paths }) => paths),
  }
}

const fixed: readonly Members[] = [
  { c: 'union { float f; }', paths: ['f'] },
  { c: 'union { double d; int64_t i; }', paths: ['d', 'i'] },
  { c: 'union { float f; int32_t i; }', paths: ['f', 'i'] },
  { c: 'struct { int tag; union { float x; struct { int16_t low, high; }; }; }', paths: ['tag', 'x', 'low', 'high'] },
  {
    c: 'struct { char c; union { int a; char b[5]; } __attribute__((packed)); char d; int e; }',
    paths: ['c', 'a', 'b', 'd', 'e'],
  },
  { c: 'struct { int a; char b; } __attribute__((packed))', paths: ['a', 'b'] },
  { c: 'union { unsigned whole; struct { int : 8; unsigned char second; }; }', paths: ['whole', 'second'] },
  { c: 'union { struct { char a; }; struct { char b; double c; }; }', paths: ['a', 'b', 'c'] },
]
const shapes = [...fixed, ...Array.from({ length: 60 }, () => group(0, pick(['union', 'union', 'struct'])))]

const header = `#include <stdint.h>
void take_log(unsigned char *to);
${shapes
  .map(
    ({ c }, i) => `typedef ${c} v${i};
void mark_${i}(v${i} *all);
v${i} swap_${i}(int8_t before, v${i} a, double d, v${i} b, int64_t after);
v${i} back_${i}(v${i} (*run)(v${i} a, float f, v${i} b), v${i} a, v${i} b);`,
  )
  .join('\n')}
`
const source = `#include "values.h"
#include <string.h>
static unsigned char log[4096];
void take_log(unsigned char *to) { memcpy(to, log, sizeof log); }
${shapes
  .map(
    (
      { paths },
      i,
    ) => `void mark_${i}(v${i} *all) { ${paths.map((path) => `memset((void *)&all->${path}, 255, sizeof all->${path});`).join(' ')} }
v${i} swap_${i}(int8_t before, v${i} a, double d, v${i} b, int64_t after) {
  log[0] = before; log[1] = d; log[2] = after;
  memcpy(log + 3, &a, sizeof a); memcpy(log + 3 + sizeof a, &b, sizeof b);
  return b;
}
v${i} back_${i}(v${i} (*run)(v${i} a, float f, v${i} b), v${i} a, v${i} b) { return run(a, 1.5f, b); }`,
  )
  .join('\n')}
`

let bound: Bound
let isolated: Bound
let workers: Library | AsyncDisposable
beforeAll(async () => {
  const file = join(directory, 'values.h')
  writeFileSync(file, header)
  writeFileSync(join(directory, 'values.c'), source)
  const library = join(directory, 'libvalues.so')
  execFileSync(process.env['CC'] ?? 'cc', ['-O1', '-w', '-shared', '-fPIC', '-o', library, join(directory, 'values.c')])
  const { code, stderr } = runTenon(['bind', file, '--library', library, '--output', join(directory, 'values')])
  expect(stderr).toMatch(new RegExp(`^${3 * shapes.length + 1} functions, \\d+ structs in \\d+\\.\\d s$`, 'm'))
  expect(code).toBe(0)
  const url = pathToFileURL(join(directory, 'values', 'index.js')).href
  bound = (await import(url)) as Bound
  isolated = (await import(`${url}?isolated`)) as Bound
  workers = await Library.isolate(isolated['library'] as NativeModule, { workers: 1 })
})
afterAll(async () => {
  await (workers as AsyncDisposable)[Symbol.asyncDispose]()
})

/** The bytes of a value that any member has: others are padding, which C does not keep. */
function definedBytes(i: number): number[] {
  using scope = NativeScope.ofConfined()
  const all = bound[`v${i}`].allocate(scope)
  bound[`mark_${i}`](all)
  return [...(all.segment as MemorySegment).toArray(MemoryLayout.uint8).entries()].flatMap(([at, byte]) =>
    byte === 255 ? [at] : [],
  )
}

const bytesOf = (value: MemorySegment, places: readonly number[]): number[] => places.map((at) => value.getUint8(at))

describe.each(shapes.map(({ c }, i) => [i, c] as const))('value %i, %s', (i) => {
  /** Two values of random bytes, of which no number is a NaN. */
  function twoOf(scope: NativeScope): [a: Bound, b: Bound] {
    const make = (): Bound => {
      const value = bound[`v${i}`].allocate(scope)
      for (let k = 0; k < value.segment.byteSize; k++) value.segment.setUint8(k, 1 + below(120))
      return value
    }
    return [make(), make()]
  }

  test('is passed and returned by value, in this process and in another one', () => {
    using scope = NativeScope.ofConfined()
    const [a, b] = twoOf(scope)
    const places = definedBytes(i)
    for (const module of [bound, isolated]) {
      const result = module[`swap_${i}`](scope, 7, a, 8, b, 9n)
      expect(result).toBeInstanceOf(module[`v${i}`])
      expect(bytesOf(result.segment, places)).toEqual(bytesOf(b['segment'], places))
      const log = new Uint8Array(4096)
      module['take_log'](log)
      const size = bound[`v${i}`].byteSize as number
      expect([...log.subarray(0, 3)]).toEqual([7, 8, 9])
      expect(places.map((at) => log[3 + at])).toEqual(bytesOf(a['segment'], places))
      expect(places.map((at) => log[3 + size + at])).toEqual(bytesOf(b['segment'], places))
    }
  })

  test('is passed to a callback, which returns an object or its memory', () => {
    using scope = NativeScope.ofConfined()
    const [a, b] = twoOf(scope)
    const places = definedBytes(i)
    const seen: number[][] = []
    const run = (first: MemorySegment, f: number, second: MemorySegment): unknown => {
      seen.push(bytesOf(first, places), bytesOf(second, places))
      expect(f).toBe(1.5)
      return seen.length === 2 ? b : a['segment']
    }
    const expected = [bytesOf(a['segment'], places), bytesOf(b['segment'], places)]
    const results = [bound[`back_${i}`](scope, run, a, b), bound[`back_${i}`](scope, run, a, b)]
    expect(results.map(({ segment }) => bytesOf(segment, places))).toEqual(expected.toReversed())
    expect(seen).toEqual([...expected, ...expected])
  })

  test('has a layout of its size and alignment', () => {
    const { byteSize, byteAlignment, layout } = bound[`v${i}`]
    expect([layout.byteSize, layout.byteAlignment]).toEqual([byteSize, byteAlignment])
  })
})

test('a layout has the members of unions without a name under their offset', () => {
  using scope = NativeScope.ofConfined()
  const { layout } = bound['v3']
  const value = bound['v3'].allocate(scope)
  value.high = 5
  const high = MemoryLayout.varHandle(layout, 'union at 4', 'struct at 0', 'high')
  expect(high.get(value.segment, 0)).toBe(5)
})

test('the types of values and callbacks are those of TypeScript', () => {
  const program = (returned: string): string => `
import { NativeScope } from '@tenon/scope'
import { v1, swap_1, back_1 } from './values/index.js'
const scope = NativeScope.ofConfined()
const a = v1.allocate(scope)
const b: v1 = swap_1(scope, 1, a, 2, a, 3)
back_1(scope, (first, f, second) => (f > 1 ? ${returned} : b), a, b)
`
  expect(typeCheck(directory, 'right.ts', program('first'))).toBe('')
  expect(typeCheck(directory, 'wrong.ts', program('f'))).toContain('number')
})
