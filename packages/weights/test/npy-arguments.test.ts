import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ArgumentError, ScopeClosedError, tensor, type NativeAllocator, type Tensor } from '@tenon/core'
import { NativeScope, ResourceScope } from '@tenon/scope'
import { decodeNpy, encodeNpy, readNpy, writeNpy } from '../src/index.ts'
import { encodeNpyHeader } from '../src/npy/npy-header.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-npy-arguments-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function expectRefused(action: () => unknown, sentence: RegExp, hint: RegExp): void {
  let thrown: unknown
  try {
    action()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(ArgumentError)
  expect((thrown as ArgumentError).sentence).toMatch(sentence)
  expect((thrown as ArgumentError).hint ?? '').toMatch(hint)
}

const x = tensor('f32', [2], [1, 2])

test.each([[[1, 2]], [5], [null], [undefined], ['x'], [{ dtype: 'f32', shape: [2] }]])(
  'writeNpy() and encodeNpy() refuse %j, and no file is created',
  (value) => {
    const path = join(directory, 'w.npy')
    expectRefused(() => writeNpy(path, value as unknown as Tensor), /^tensor must be a Tensor, got /, /tensor\('f32'/)
    expectRefused(() => encodeNpy(value as unknown as Tensor), /^tensor must be a Tensor, got /, /tensor\('f32'/)
    expect(existsSync(path)).toBe(false)
  },
)

test('writeNpy() refuses arguments in the other order', () => {
  expectRefused(() => writeNpy(x as never, 'w.npy' as never), /got a tensor$/, /Pass the path first/)
})

test.each([[''], ['a\0b'], [5], [undefined], [new URL('https://example.org/x.npy')]])(
  'readNpy() and writeNpy() refuse the path %j',
  (path) => {
    expectRefused(() => readNpy(path as string), /^path must be /, /^/)
    expectRefused(() => writeNpy(path as string, x), /^path must be /, /^/)
  },
)

test('readNpy() and writeNpy() accept file: URLs', () => {
  const path = join(directory, 'a b%.npy')
  writeNpy(pathToFileURL(path), x)
  expect(readNpy(pathToFileURL(path)).toArray()).toEqual([1, 2])
  expect(readFileSync(path)).toEqual(Buffer.from(encodeNpy(x)))
})

test('decodeNpy() refuses bytes that were transferred away', () => {
  const bytes = new Uint8Array(encodeNpy(tensor([1, 2])))
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  expect(() => decodeNpy(bytes)).toThrow('bytes must be attached, got an array whose buffer was transferred')
})

test('decodeNpy() and encodeNpy() refuse more axes than NumPy has', () => {
  expect(decodeNpy(encodeNpy(tensor('f32', Array(64).fill(1)))).shape).toHaveLength(64)
  const shape = Array<number>(65).fill(1)
  expect(() => encodeNpy(tensor('f32', shape))).toThrow('a .npy file must have at most 64 axes, got a tensor with 65')
  const bytes = Buffer.concat([encodeNpyHeader('float32', shape), new Uint8Array(4)])
  expect(() => decodeNpy(bytes)).toThrow('the shape should have at most 64 axes, as in NumPy, but has 65')
})

test('decodeNpy() refuses values that are not bytes', () => {
  expectRefused(() => decodeNpy('x.npy' as never), /^bytes must be a Uint8Array, got "x\.npy"$/, /readNpy\(path\)/)
})

test('readNpy() accepts an allocator, and refuses a scope that is not one', () => {
  const path = join(directory, 'allocator.npy')
  writeNpy(path, x)
  const scope = NativeScope.ofConfined()
  const read = readNpy(path, scope)
  expect(read.toArray()).toEqual([1, 2])
  scope.close()
  expect(() => read.toArray()).toThrow(ScopeClosedError)
  expect(String(read)).toMatch(/^Tensor float32\[2\] \(.+\)$/)
  using plain = ResourceScope.ofConfined()
  for (const allocator of [plain, ResourceScope, { allocator: scope }, {}]) {
    expectRefused(
      () => readNpy(path, allocator as unknown as NativeAllocator),
      /^allocator must have allocate\(byteSize, byteAlignment\), got /,
      /NativeScope\.ofConfined\(\)/,
    )
  }
})

test('system errors contain the path of the file', () => {
  const thrownBy = (action: () => unknown): unknown => {
    try {
      return action()
    } catch (error) {
      return error
    }
  }
  expect(thrownBy(() => readNpy(directory))).toMatchObject({ code: 'EISDIR', path: directory })
  if (process.platform === 'linux')
    expect(thrownBy(() => writeNpy('/dev/full', x))).toMatchObject({ code: 'ENOSPC', path: '/dev/full' })
})
