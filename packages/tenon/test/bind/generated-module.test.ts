import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ArgumentError, LoadError, ScopeClosedError } from '@tenon/core'
import { type MemorySegment, NativeScope } from '@tenon/scope'
import { textOf } from '@tenon/scope/bind'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon } from '../run-tenon.ts'
import { typeCheck } from './type-check.ts'

const here = dirname(fileURLToPath(import.meta.url))
// In the package, so that the module finds tenon.
const directory = mkdtempSync(join(here, 'module-'))
afterAll(() => rmSync(directory, { recursive: true }))

const header = join(here, 'library.h')
const library = join(directory, 'libbound.so')
const output = join(directory, 'bound')

/** A module whose declarations a program would import. */
// oxlint-disable-next-line typescript/no-explicit-any -- the module does not exist when this file is compiled
type Bound = Record<string, any>
let bound: Bound

beforeAll(async () => {
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', library, join(here, 'library.c'), '-lm'])
  const { code, stderr } = runTenon(['bind', header, '--library', library, '--output', output])
  expect(stderr).toMatch(
    /^19 functions, 5 constants, 3 structs, 3 variables in \d+\.\d s; 2 not bound \(--report lists them\)$/m,
  )
  expect(code).toBe(0)
  bound = (await import(pathToFileURL(join(output, 'index.js')).href)) as Bound
})

describe('functions', () => {
  test('pass scalars of every kind', () => {
    expect(bound['add_u8'](200, 55)).toBe(255)
    expect(bound['add_i64'](2n ** 62n, 5)).toBe(2n ** 62n + 5n)
    expect(bound['add_f32'](1.5, 2.25)).toBe(3.75)
    expect(bound['negate'](false)).toBe(true)
    expect(bound['next_mode'](bound['MODE_OFF'])).toBe(3)
    expect(bound['class_'](4)).toBe(5)
    expect(() => bound['add_u8'](256, 0)).toThrow(ArgumentError)
  })

  test('copy texts for the call, and copy those that are returned', () => {
    expect(bound['count']('grün')).toBe(5n)
    expect(bound['count']('x'.repeat(100_000))).toBe(100_000n)
    expect(bound['count'](null)).toBe(0n)
    expect([0, 3, 9].map((mode) => bound['describe'](mode))).toEqual(['off', 'an', null])
    expect(() => bound['count']('a\0b')).toThrow(ArgumentError)
    expect(() => bound['count'](5)).toThrow(ArgumentError)
  })

  test('take typed arrays without a copy', () => {
    expect(bound['sum'](Float64Array.of(1, 2, 4), 3)).toBe(7)
    const bytes = new Uint8Array(4)
    bound['set_bytes'](bytes, 7, 4)
    expect([...bytes]).toEqual([7, 7, 7, 7])
  })

  test('take and return structs by value, and take their objects as pointers', () => {
    using scope = NativeScope.ofConfined()
    const Point = bound['point']
    const [a, b] = [Point.allocate(scope), Point.allocate(scope)]
    a.x = 6
    b.y = 8
    const middle = bound['middle'](scope, a, b)
    expect([middle.x, middle.y]).toEqual([3, 4])
    expect(bound['length'](middle)).toBe(5)
    expect(String(middle)).toMatch(/^point in MemorySegment of 16 bytes/)
  })

  test('call functions of TypeScript, whose errors come out of the call', () => {
    const values = Int32Array.of(3, 1, 2)
    const read = (pointer: MemorySegment): number => pointer.reinterpret(4).getInt32(0)
    const descending = (a: MemorySegment, b: MemorySegment): number => read(b) - read(a)
    bound['sort_ints'](values, 3, descending)
    expect([...values]).toEqual([3, 2, 1])
    const seen: unknown[] = []
    const result = bound['apply']((value: number, point: MemorySegment, text: MemorySegment) => {
      seen.push(value, point.getFloat64(8), textOf(text))
      return value * 2
    }, 21)
    expect([result, ...seen]).toEqual([42, 21, 2, 'seen'])
    expect(() =>
      bound['apply'](() => {
        throw new Error('from the callback')
      }, 1),
    ).toThrow('from the callback')
  })

  test('may be called again by a callback while the texts of the outer call are in use', () => {
    const buffer = new Uint8Array(64)
    const inner = (): number => Number(bound['count']('another text in the same memory'))
    expect(bound['apply'](inner, 0)).toBe(31)
    expect(bound['print_to'](buffer, 64, '%s %d', 'text', bound['apply'](inner, 0))).toBe(7)
  })

  test('take any number of further arguments with the types that C gives them', () => {
    const buffer = new Uint8Array(128)
    const print = (...rest: unknown[]): string => {
      const length = bound['print_to'](buffer, 128, ...rest)
      return Buffer.from(buffer.subarray(0, length)).toString()
    }
    expect(print('%d %s %.2f %lld %c', 5, 'two', 2.5, 2n ** 40n, ['int32', 65])).toBe('5 two 2.50 1099511627776 A')
    expect(print('plain')).toBe('plain')
    expect(print('%.1f %d', ['float64', 2], true)).toBe('2.0 1')
    expect(() => print('%d', Symbol('x'))).toThrow(ArgumentError)
    // More lists of types than are kept.
    for (let i = 0; i < 100; i++) {
      const bits = [...i.toString(2).padStart(7, '0')].map(Number)
      const rest = bits.map((bit) => (bit === 1 ? 1.5 : 7))
      expect(print(bits.map((bit) => (bit === 1 ? '%.1f' : '%d')).join(' '), ...rest)).toBe(rest.join(' '))
    }
  })

  test('return pointers of a type, also those that are values', () => {
    const counter = bound['counter_open'](10)
    expect([bound['counter_next'](counter), bound['counter_next'](counter)]).toEqual([10, 11])
    bound['counter_close'](counter)
    expect(bound['is_everything'](bound['LIBRARY_EVERYTHING'])).toBe(1)
    expect(bound['is_everything'](null)).toBe(0)
  })
})

test('constants have the values of the compiler', () => {
  expect([bound['LIBRARY_VERSION'], bound['LIBRARY_LIMIT'], bound['MODE_ON']]).toEqual(['1.2', 2n ** 63n - 1n, 3])
})

describe('structs', () => {
  test('have every member, at the place where C has it', () => {
    using scope = NativeScope.ofConfined()
    const one = bound['tagged'].allocate(scope)
    Object.assign(one, { kind: 200, flag: 1, level: -8, wide: 2n ** 60n - 1n, name: 'seven', real: 1, text: null })
    expect([one.kind, one.flag, one.level, one.wide, one.name, one.real, one.whole]).toEqual([
      200,
      1,
      -8,
      2n ** 60n - 1n,
      'seven',
      1,
      0x3f800000,
    ])
    one.at.y = 2.5
    one.counts.setInt32(8, 9)
    expect([one.at.x, one.at.y, one.counts.byteSize, one.counts.getInt32(8), one.text.address]).toEqual([
      0,
      2.5,
      12,
      9,
      0n,
    ])
    one.flag = 0
    expect([one.kind, one.flag, one.level, one.wide]).toEqual([200, 0, -8, 2n ** 60n - 1n])
  })

  test('refuse values that do not fit', () => {
    using scope = NativeScope.ofConfined()
    const one = bound['tagged'].allocate(scope)
    expect(() => (one.level = 8)).toThrow(RangeError)
    expect(() => (one.flag = -1)).toThrow(RangeError)
    expect(() => (one.flag = 0.5)).toThrow(ArgumentError)
    expect(() => (one.name = '12345678')).toThrow(RangeError)
    expect(() => (one.text = 5)).toThrow(ArgumentError)
    expect(one.name).toBe('')
  })

  test('may be packed, and lie in arrays', () => {
    using scope = NativeScope.ofConfined()
    const Pair = bound['packed_pair']
    expect(Pair.byteSize).toBe(5)
    const memory = scope.allocate(10)
    const [first, second] = Pair.array(memory)
    second.b = 0x01020304
    expect([first.b, second.b, memory.getUint8(6)]).toEqual([0, 0x01020304, 4])
    expect(() => Pair.array(scope.allocate(7))).toThrow(RangeError)
    expect(() => Pair.at({} as never)).toThrow(ArgumentError)
  })

  test('lie at any address within packed structs', async () => {
    const path = join(directory, 'within.h')
    writeFileSync(
      path,
      `struct inner { float real; struct { double wide; } deep[2]; };
       struct free_inner { int number; };
       struct outer { char first; int number; struct inner inner; char last; } __attribute__((packed));`,
    )
    expect(runTenon(['bind', path, '--output', join(directory, 'within')]).code).toBe(0)
    const within = (await import(pathToFileURL(join(directory, 'within/index.js')).href)) as Bound
    using scope = NativeScope.ofConfined()
    const all = within['outer'].array(scope.allocate(3 * within['outer'].byteSize, 8))
    expect(within['outer'].byteSize).toBe(30)
    for (const [i, one] of all.entries()) {
      one.number = i + 10
      one.inner.real = i + 0.5
      for (const deep of within['inner_deep'].array(one.inner.deep)) deep.wide = i + 0.25
    }
    const read = all.map((one: Bound) => [
      one['number'],
      one['inner'].real,
      ...within['inner_deep'].array(one['inner'].deep).map((deep: Bound) => deep['wide']),
    ])
    expect(read).toEqual([0, 1, 2].map((i) => [i + 10, i + 0.5, i + 0.25, i + 0.25]))
    // Others are read as before.
    expect(readFileSync(join(directory, 'within/index.js'), 'utf8')).toContain('this.segment.getInt32(0)')
  })
})

test('variables are read and written in the library', () => {
  bound['global_count'].value++
  expect(bound['global_count'].value).toBe(6)
  expect(textOf(bound['global_name'].value)).toBe('names')
  expect(bound['global_point'].value.y).toBe(2)
})

describe('the module', () => {
  test('declares types that the compiler checks', () => {
    const text = `import { NativeScope } from 'tenon/scope'
       import * as bound from './bound/index.js'
       using scope = NativeScope.ofConfined()
       const value: number = bound.add_f32(1, 2)
       const big: bigint = bound.add_i64(1, 2n)
       const text: string | null = bound.describe(bound.MODE_ON)
       const mode: bound.mode = bound.next_mode(0)
       const middle: bound.point = bound.middle(scope, bound.point.allocate(scope), bound.point.allocate(scope))
       const three: 3 = bound.MODE_ON
       bound.sum(new Float64Array(3), 3n)
       bound.sort_ints(new Int32Array(1), 1, (a, b) => Number(a.address - b.address))
       bound.counter_next(bound.counter_open(1))
       // @ts-expect-error a counter is not a point
       bound.length(bound.counter_open(1))
       // @ts-expect-error the elements are doubles
       bound.sum(new Float32Array(3), 3)
       // @ts-expect-error a text is not a number
       bound.add_u8('1', 2)
       // @ts-expect-error an array has no setter
       bound.tagged.allocate(scope).counts = scope.allocate(4)
       export { value, big, text, mode, middle, three }
      `
    expect(typeCheck(directory, 'use.ts', text)).toBe('')
  })

  test('looks up a function when it is called, and says which library lacks it', () => {
    const { code } = runTenon(['bind', header, '--output', join(directory, 'all')])
    expect(code).toBe(0)
    expect(bound['library'].has('add_u8')).toBe(true)
    expect(bound['library'].has('not_in_the_library')).toBe(false)
    expect(() => bound['library'].link('not_in_the_library', {})).toThrow(LoadError)
    expect(bound).not.toHaveProperty('not_in_the_library')
  })

  test('is refused on another platform', async () => {
    const other = join(directory, 'other.mjs')
    writeFileSync(
      other,
      readFileSync(join(output, 'index.js'), 'utf8').replace(/platform: '[^']*'/, "platform: 'aix-ppc64'"),
    )
    await expect(import(pathToFileURL(other).href)).rejects.toThrow(/written for aix-ppc64/)
  })

  test('ends its callbacks and functions when it is closed', () => {
    const program = join(directory, 'close.mjs')
    writeFileSync(
      program,
      `import * as bound from './bound/index.js'
       bound.apply(() => 1, 2)
       bound.library.close()
       try { bound.apply(() => 1, 2) } catch (error) { console.log(error.name) }
       try { bound.add_u8(1, 2) } catch (error) { console.log(error.name) }`,
    )
    expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe(
      `${ScopeClosedError.name}\n${ScopeClosedError.name}\n`,
    )
  })
})

describe('tenon bind', () => {
  const bind = (...args: string[]): ReturnType<typeof runTenon> =>
    runTenon(['bind', header, '--library', library, ...args], { cwd: directory })

  test('lists what is not bound, with its place and reason', () => {
    const { code, stdout } = bind('--report')
    expect(stdout).toBe(
      'library.h:39 not_in_the_library: not exported: by libbound.so\nlibrary.h:40 inlined: inline function: needs --shim\n',
    )
    expect(code).toBe(0)
  })

  test('checks a module without writing it, and names what differs', () => {
    expect(bind('--output', 'bound', '--check')).toMatchObject({ code: 0, stdout: '' })
    const path = join(output, 'index.d.ts')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace('MODE_ON: 3', 'MODE_ON: 4').replace('function negate', 'function negated'))
    const { code, stdout, stderr } = bind('--output', 'bound', '--check')
    expect([code, stdout]).toEqual([1, '- negated\n~ MODE_ON\n+ negate\n'])
    expect(stderr).toContain('index.d.ts of bound differ')
    writeFileSync(path, text)
  })

  test('prints the model as JSON', () => {
    const model = JSON.parse(bind('--json').stdout) as Record<string, unknown[]>
    expect(model['functions']).toHaveLength(19)
    expect(model['target']).toBe(`${process.platform}-${process.arch}`)
  })

  test('passes flags of the preprocessor to the compiler', () => {
    writeFileSync(join(directory, 'flags.h'), '#include <library.h>\n#ifdef WANTED\n#define VALUE WANTED\n#endif\n')
    const { stdout, code } = runTenon(['bind', 'flags.h', '-I', here, '-DWANTED=7', '--json', '--include', 'VALUE'], {
      cwd: directory,
    })
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as { constants: unknown[] }).constants).toMatchObject([
      { name: 'VALUE', constant: { value: '7' } },
    ])
  })

  test.each([
    [['bind'], 2, 'the argument <headers> is missing'],
    [['bind', 'x.h'], 2, '--output is missing'],
    [['bind', 'x.h', '--check', '--report'], 2, '--check needs --output'],
    [['bind', 'x.h', '-I'], 2, '-I needs a value'],
    [['bind', 'no-such-header.h', '--report'], 3, 'No such file'],
    [['bind', 'stdio.h', '--library', 'libnosuch.so', '--report'], 1, 'the library libnosuch.so does not exist'],
  ])('tenon %j exits with %i: %s', (args, code, message) => {
    const finished = runTenon(args, { cwd: directory })
    expect(finished.stderr).toContain(message)
    expect(finished.code).toBe(code)
    expect(existsSync(join(directory, 'index.js'))).toBe(false)
  })
})
