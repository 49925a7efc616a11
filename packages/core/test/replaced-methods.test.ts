import { gcAllocator, tensor, tensorType } from '@tenon/core'
import { Slab } from '@tenon/core/internal'
import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'

/** Replaces a method of the engine while a function runs. */
function replaced<Of extends object>(of: Of, name: keyof Of, method: () => unknown, use: () => unknown): void {
  const before = Object.getOwnPropertyDescriptor(of, name)!
  Object.defineProperty(of, name, { ...before, value: method })
  try {
    use()
  } catch {
    // The call itself may fail. The test checks the state that it leaves.
  } finally {
    Object.defineProperty(of, name, before)
  }
}

test('a type that is made while methods are replaced has its size for later tensors', () => {
  replaced(
    Array.prototype,
    'reduce',
    () => 0,
    () => tensorType('f32', [70_001, 3]),
  )
  replaced(
    Array.prototype,
    'includes',
    () => true,
    () => tensorType('f32', [70_002, 3]),
  )
  replaced(
    Array.prototype,
    'reduce',
    () => 1,
    () => tensorType('f32', [70_003, 3], { strides: [1, 70_003] }),
  )
  replaced(
    Math,
    'max',
    () => 0,
    () => tensorType('f32', [70_004, 3]),
  )
  replaced(
    Math,
    'ceil',
    () => 0,
    () => tensorType('s4', [70_005, 3], { packing: 'packed' }),
  )
  const types = [1, 2, 4].map((i) => tensorType('f32', [70_000 + i, 3]).byteSize)
  expect(types).toEqual([840_012, 840_024, 840_048])
  expect(tensorType('f32', [70_003, 3], { strides: [1, 70_003] }).byteSize).toBe(840_036)
  expect(tensorType('s4', [70_005, 3], { packing: 'packed' }).byteSize).toBe(105_008)
})

test('memory that is allocated while methods are replaced lies in its buffer', () => {
  for (const value of [NaN, -1, 0, 2 ** 40]) {
    replaced(
      Math,
      'max',
      () => value,
      () => gcAllocator.allocate(8000, 64),
    )
    for (let i = 0; i < 300; i++) {
      replaced(
        Math,
        'max',
        () => value,
        () => gcAllocator.allocate(100, 64),
      )
      const x = tensor('f32', [16], new Float32Array(16).fill(i))
      expect(x.toArray()[15]).toBe(i)
    }
  }
})

test('a slab takes no part for numbers that are not valid', () => {
  const slab = new Slab(1024)
  slab.take(100, 1)
  for (const size of [0, -1, -100, NaN, -Infinity, Infinity, 2 ** 31, 2 ** 53]) expect(slab.take(size, 1)).toBe(-1)
  for (const alignment of [NaN, -64, 0]) expect(slab.take(8, alignment)).toBe(-1)
  expect(slab.take(8, 1)).toBe(100)
})

test('functions can be made when the prototypes of the engine are frozen', async () => {
  const { code, stdout, stderr } = await runScript(
    `import { NativeLibrary, tensor } from '@tenon/core'
     for (const { prototype } of [Function, Object, Array, Error, RangeError]) Object.freeze(prototype)
     const cos = NativeLibrary.open('libm.so.6').function('cos', { result: 'float64', parameters: ['float64'] })
     console.log(cos(0), String(cos), tensor([1, 2]).toArray())
     try { cos(1, 2) } catch (error) { console.log(error.code) }`,
    { nodeOptions: packageFlags },
  )
  expect({ code, stdout: stdout.trim().split('\n') }, stderr).toEqual({
    code: 0,
    stdout: ['1 NativeFunction cos [ 1, 2 ]', 'TENON_ARGUMENT'],
  })
})
