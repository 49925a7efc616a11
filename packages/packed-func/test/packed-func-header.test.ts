import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tensor } from '@tenon/core'
import {
  dataType,
  device,
  float,
  Module,
  packedFunc,
  type PackedFunc,
  registerGlobal,
  removeGlobal,
} from '../src/index.ts'
import { collectAll, live, thrownBy } from './support.ts'

const include = fileURLToPath(new URL('../../core/include', import.meta.url))
const fixture = fileURLToPath(new URL('fixtures/packed_func.cc', import.meta.url))
const strict = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-shared', '-fPIC', '-I', include]

let directory: string
let library: Module
const get = (name: string): PackedFunc => library.get(name)

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-packed-func-'))
  library = Module.open(compile(fixture))
})
afterAll(() => rmSync(directory, { recursive: true }))

function compile(source: string): string {
  const path = join(directory, `lib${source.split('/').at(-1)!.replace('.cc', '')}.so`)
  execFileSync(process.env['CXX'] ?? 'c++', [...strict, '-o', path, source], { stdio: 'inherit' })
  return path
}

describe('tenon/packed_func.h', () => {
  it('has an example that compiles and runs', () => {
    const comment = readFileSync(join(include, 'tenon/packed_func.h'), 'utf8').split('*/')[0]!
    const example = /^ \* {3}#include[^]*?^ \* {3}TN_PACKED_FUNC.*$/m.exec(comment)![0].replaceAll(/^ \* {3}/gm, '')
    const path = join(directory, 'example.cc')
    writeFileSync(path, example)
    const opened = Module.open(compile(path))
    expect(opened.get('repeat')('ab', 3)).toBe('ababab')
    expect(opened.get('count')(1, 'x', null)).toBe(3)
  })

  it('makes packed functions of lambdas, function pointers and function objects', () => {
    expect([get('repeat')('ab', 2), get('half')(5), get('nothing')(), get('accumulate')(3)]).toEqual([
      'abab',
      2.5,
      null,
      3,
    ])
    expect(get('accumulate')(4)).toBe(7)
    expect(get('count')(...Array.from({ length: 50 }, () => 1))).toBe(50)
    const text = 'ü'.repeat(100)
    expect(get('repeat')(text, 1)).toBe(text)
    expect(get('repeat')('a\0b', 1)).toBe('a\0b')
  })

  it('converts values as tvm-ffi does', () => {
    expect(get('small')(-128, 65_535, 2n ** 63n - 1n, true, float(0.5))).toBe(-128 + 65_535 + 1.5)
    expect(get('small')(1, 2, -1, 3, 4)).toBe(1 + 2 + 1 + 1 + 4)
    expect([get('maybe')(null), get('maybe')(5)]).toEqual([null, '5'])
    expect(get('kinds')(device('cuda:3'), dataType('float16'), null)).toBe(3 + 16 + 1)
    expect(String(get('device_of')(device('cuda:3')))).toBe('cuda:4')
    const x = tensor('f32', [3], [1, 2, 3])
    get('scale')(x, 2)
    expect(x.toArray()).toEqual([2, 4, 6])
  })

  it("refuses other values with tvm-ffi's messages", () => {
    const failure = (...values: unknown[]): string =>
      (thrownBy(() => get('repeat')(...(values as never[]))) as { sentence: string } & Error).sentence
    expect(failure('x', 'y')).toBe(
      'Mismatched type on argument #1 when calling: `repeat(0: str, 1: int) -> str`. Expected `int` but got `ffi.SmallStr`',
    )
    expect(failure(null, 1)).toMatch(/argument #0 .*Expected `str` but got `None`/)
    expect(failure('x')).toBe(
      'Mismatched number of arguments when calling: `repeat(0: str, 1: int) -> str`. Expected 2 but got 1 arguments',
    )
    expect(() => get('repeat')('x', 2 ** 31)).toThrow('2147483648 is not from -2147483648 to 2147483647')
    expect(() => get('small')(-129, 0, 0, 0, 0)).toThrow('-129 is not from -128 to 127')
    expect(() => get('twice')(5, 1)).toThrow('Expected `ffi.Function` but got `int`')
    expect(() => get('twice')(null, 1)).toThrow('the function is null')
    expect(() => get('last')()).toThrow('there is no argument -1 of 0')
  })

  it('raises exceptions as errors of their kind, and passes errors of JavaScript on as they are', () => {
    expect(thrownBy(() => get('fails')('ValueError'))).toMatchObject({ kind: 'ValueError', sentence: 'as asked' })
    expect(thrownBy(() => get('bad_alloc')(true))).toMatchObject({ kind: 'InternalError' })
    expect(() => get('bad_alloc')(false)).toThrow('an exception that is not a std::exception')
    const own = new RangeError('mine')
    const throwing = packedFunc(() => {
      throw own
    })
    expect(thrownBy(() => get('forward')(throwing))).toBe(own)
  })

  it('calls, keeps, returns and registers functions', () => {
    const add = get('adder')(5) as PackedFunc
    expect([add(1), get('twice')(add, 1), get('forward')(add, 2)]).toEqual([6, 11, 7])
    expect(get('last')(1, add)).toEqual(expect.toSatisfy((value: PackedFunc) => value.sameAs(add)))
    registerGlobal('test.packed_func.length', (text: string) => text.length)
    expect(get('global_length')('four')).toBe(4)
    removeGlobal('test.packed_func.length')
    expect(() => get('global_length')('four')).toThrow('test.packed_func.length')
    get('register_it')('test.packed_func.negate')
    expect(removeGlobal('test.packed_func.negate')).toBe(true)
  })

  it('keeps no reference', async () => {
    const [adder, twice, forward, repeat, fails] = ['adder', 'twice', 'forward', 'repeat', 'fails'].map(
      get,
    ) as PackedFunc[]
    const calls = (): void => {
      using add = adder!(5) as PackedFunc & Disposable
      twice!(add, 1)
      forward!(repeat!, 'x'.repeat(100), 2)
      thrownBy(() => fails!('ValueError'))
      thrownBy(() => repeat!('x'.repeat(100), 'y'))
      thrownBy(() => forward!(fails!, 'KeyError'))
    }
    calls()
    await collectAll()
    const before = live().native
    for (let i = 0; i < 100; i++) calls()
    await collectAll()
    expect(live().native).toBe(before)
  })
})
