import { describe, expect, test } from 'vitest'
import { ReadOnlyError, tensor, type Tensor } from '@tenon/core'
import { type ManagedLifetime, READ_ONLY, usersOf } from '@tenon/core/internal'
import { fromDLPack, getGlobal, packedFunc, readOnly, t, tensorView, toDLPack, type Argument } from '../src/index.ts'
import { LentMemory } from './lent-memory.ts'
import { kernel } from './support.ts'

/** A lifetime with a read-only tensor of 1 and 2. */
function sealed(): { readonly lifetime: LentMemory; readonly x: Tensor } {
  const lifetime = new LentMemory()
  return { lifetime, x: lifetime.tensor(READ_ONLY) }
}

const addOne = kernel('add_one')
const echo = kernel('echo')

/** The ways to pass a tensor. */
const forms: readonly (readonly [string, (x: Argument) => unknown])[] = [
  ['one argument', (x) => echo(x)],
  ['two arguments', (x) => addOne(x, tensor('float32', [2]))],
  ['many arguments', (x) => getGlobal('ffi.Array')(x, 1, 2, 3, 4)],
  ['an array', (x) => echo([1, x])],
  ['a map', (x) => echo(new Map([['x', x]]))],
  ['a typed call', (x) => echo.typed([t.tensor], t.any)(x as Tensor)],
  ['a typed call with more types', (x) => getGlobal('ffi.Array').typed([t.tensor, t.float], t.any)(x as Tensor, 1)],
  ['another thread', (x) => addOne.async(x, tensor('float32', [2]))],
  ['the result of a callback', (x) => kernel('call')(packedFunc(() => x))],
  ['a container', (x) => getGlobal('ffi.Array')(x)],
  ['a function that keeps it', (x) => (kernel('keep')(x), kernel('keep')(null))],
]

describe('a read-only tensor', () => {
  test.each(forms)('is refused as %s, because the function may write, and holds nothing open', async (_, pass) => {
    const { lifetime, x } = sealed()
    for (let i = 0; i < 2; i++) {
      await expect((async () => pass(x))()).rejects.toThrow('a tensor must be writable, got read-only memory')
      await expect((async () => pass(x))()).rejects.toThrow(/Hint: Pass readOnly\(x\)/)
    }
    expect(usersOf(lifetime.gate)).toEqual(usersOf(new LentMemory().gate))
    lifetime.close()
  })

  test.each(forms)('is passed with readOnly() as %s, and stays refused without it', async (_, pass) => {
    const { x } = sealed()
    for (let i = 0; i < 2; i++) {
      await pass(readOnly(x))
      expect(() => echo(x)).toThrow(ReadOnlyError)
    }
    expect(x.toArray()).toEqual([1, 2])
  })

  test('is read, returned as itself, and held while native code keeps it', async () => {
    const { lifetime, x } = sealed()
    const y = tensor('float32', [2])
    for (const form of [readOnly(x), readOnly(tensorView(x))]) {
      addOne(form, y)
      expect(y.toArray()).toEqual([2, 3])
    }
    await addOne.async(readOnly(x), y)
    expect(echo(readOnly(x))).toBe(x)
    kernel('keep')(readOnly(x))
    expect(() => lifetime.close()).toThrow('1 hold')
    kernel('keep')(null)
    lifetime.close()
    expect(() => echo(readOnly(x))).toThrow('closed already')
  })

  test('is refused with the place of the argument', () => {
    const { x } = sealed()
    for (const form of [x, tensorView(x), [x]])
      expect(() => addOne(tensor('float32', [2]), form)).toThrow(/^argument 2: a tensor must be writable/)
  })

  test('of native code is refused as well', () => {
    const { x } = sealed()
    const native = fromDLPack(toDLPack(x)) as Tensor
    expect(native.segment.readOnly).toBe(true)
    for (let i = 0; i < 2; i++) {
      expect(() => echo(native)).toThrow(ReadOnlyError)
      expect(echo(readOnly(native))).toBe(native)
    }
    ;(native.segment.lifetime as ManagedLifetime).close()
  })
})

test('readOnly() takes writable tensors too, and refuses other values', () => {
  const y = tensor('float32', [2])
  addOne(readOnly(y), y)
  expect(y.toArray()).toEqual([1, 1])
  expect(echo(readOnly(y))).toBe(y)
  for (const value of [1, null, [y], readOnly(y)])
    expect(() => readOnly(value as never)).toThrow('tensor must be a tensor, or the view of one')
})
