import { describe, expect, it } from 'vitest'
import { tensor } from '@tenon/core'
import { addressOf } from '@tenon/core/internal'
import {
  getGlobal,
  packedFunc,
  readOnly,
  rvalue,
  t,
  tensorView,
  type Argument,
  type NativeArray,
} from '../src/index.ts'
import { drainReleased } from '../src/native/foreign.ts'
import { host } from '../src/native/host.ts'
import { CALL, TENSORS } from '../src/native/perform.ts'
import { openStack } from '../src/native/stack.ts'
import { TypeIndex } from '../src/native/type-index.ts'
import { surrender } from '../src/objects/native-object.ts'
import { addressIn, ending, stubFunction, writeObject } from './stub-function.ts'
import { fillStack, kernel, live } from './support.ts'

const echo = kernel('echo')
const typeIndex = kernel('type_index')
const stack = openStack()

function fail(): never {
  throw new Error('from the stub')
}

/** The words of the stack that a call leaves behind. */
const left = (): number[] => [stack.top, stack.text, stack.undo.length, stack.head[CALL]!, stack.head[TENSORS]!]

describe('a call that an upcall stub ends with an error', () => {
  const kept: number[] = []
  const keep = stubFunction((args, count) => {
    for (let i = 0; i < count; i++) {
      kept.push(addressIn(args + 16 * i))
      host().packed.tn_packed_retain(kept.at(-1)!)
    }
    return fail()
  })

  const typed = keep.typed([t.tensor], t.none)
  it.each([
    ['one argument', 1, keep],
    ['three arguments', 3, keep],
    ['four arguments', 4, keep],
    ['a signature', 1, typed],
  ])('hands over the tensors that native code kept, with %s', (_, count, run) => {
    const tensors = Array.from({ length: count }, () => tensor('float32', [3]))
    const { foreign } = live()
    // All small tensors share their memory's gate.
    const { gate } = tensors[0]!
    const { holds } = gate
    expect(() => (run as (...values: Argument[]) => unknown)(...tensors)).toThrow('from the stub')
    expect(left()).toEqual([0, 0, 0, 0, 0])
    expect(echo(5)).toBe(5)
    expect(gate.holds).toBe(holds + count)
    expect(live().foreign).toBe(foreign + count)
    for (const address of kept.splice(0)) stack.release(address)
    expect(live().foreign).toBe(foreign)
    expect(gate.holds).toBe(holds)
    expect(echo(tensors[0])).toBe(tensors[0])
  })

  it.each([true, false])(
    'hands over the tensors that native code kept and overwrote (a C++ exception: %s)',
    (throwsInC) => {
      const throwing = kernel('call_and_throw', 'packed_throwing')
      const [x, y] = [tensor('float32', [3]), tensor('float32', [3])]
      for (const each of [x, y]) typeIndex(each)
      const [object, other] = [x.descriptor, y.descriptor] as [{ address: number }, { address: number }]
      const { holds } = x.gate
      // The arguments of the outermost call are behind its result.
      const first = stack.slotAddress(1)
      const overwriting = stubFunction(() => {
        for (let i = 0; i < 3; i++) writeObject(first + 16 * i, TypeIndex.Tensor, i === 1 ? other.address : 0)
        host().packed.tn_packed_retain(object.address)
        return throwsInC ? 0 : fail()
      })
      if (throwsInC) expect(() => throwing(overwriting, x, y)).toThrow('after the call (std::logic_error)')
      else expect(() => overwriting(1, x, y)).toThrow('from the stub')
      expect(left()).toEqual([0, 0, 0, 0, 0])
      expect([x.descriptor, y.descriptor]).toEqual([null, other])
      expect(x.gate.holds).toBe(holds + 1)
      stack.release(object.address)
      drainReleased(stack)
      expect(x.gate.holds).toBe(holds)
      expect([echo(x), echo(y)]).toEqual([x, y])
    },
  )

  it.each(['the error of the stub', 'the C++ exception'])('and then a C++ exception, throws %s', (first) => {
    const throwing = kernel('call_and_throw', 'packed_throwing')
    const x = tensor('float32', [3])
    typeIndex(x)
    const { address } = x.descriptor as { address: number }
    const { holds } = x.gate
    const isStub = first === 'the error of the stub'
    const callee = stubFunction(() => {
      host().packed.tn_packed_retain(address)
      return isStub ? fail() : 0
    })
    expect(() => throwing(callee, x)).toThrow(isStub ? 'from the stub' : 'after the call (std::logic_error)')
    expect(left()).toEqual([0, 0, 0, 0, 0])
    // Native code keeps the object, which was handed over.
    expect(x.descriptor).toBe(null)
    expect(x.gate.holds).toBe(holds + 1)
    stack.release(address)
    typeIndex(x)
    expect(x.gate.holds).toBe(holds)
  })

  it('releases the object that it returned', () => {
    let ended = 0
    const sum = packedFunc((a: number, b: number) => a + b)
    const give = stubFunction((_, _count, result) => {
      writeObject(result, TypeIndex.Function, surrender(ending(() => (ended += sum(1, 2) as number))))
      return fail()
    })
    for (let i = 1; i <= 3; i++) {
      const x = tensor('float32', [3])
      expect(() => give(x)).toThrow('from the stub')
      expect(ended).toBe(3 * i)
      expect(left()).toEqual([0, 0, 0, 0, 0])
    }
  })

  it('releases text that it returned', () => {
    const { native } = live()
    const text = Buffer.from('a text that is longer than seven')
    const give = stubFunction((_, _count, result) => {
      host().packed.tn_packed_make_text(result, addressOf(text), text.length, 0)
      return fail()
    })
    expect(() => give()).toThrow('from the stub')
    expect(echo(5)).toBe(5)
    give.close()
    expect(live().native).toBe(native)
  })
})

const full = tensor('float32', [3])
const sum = kernel('sum')
const kernelCall = kernel('call')
const callback = packedFunc(() => 0)
const list = getGlobal('ffi.List')(1, 2) as NativeArray

it.each<[arguments: string, call: () => unknown]>([
  ['no argument', () => sum()],
  ['one tensor', () => typeIndex(full)],
  ['text', () => typeIndex('text that is longer than its slot')],
  ['three tensors', () => sum(full, full, full)],
  ['four tensors', () => sum(full, full, full, full)],
  ['a tensor that native code keeps', () => echo(full)],
  ['three of these', () => getGlobal('ffi.Array')(full, full, full)],
  ['a tensor that is only read', () => typeIndex(readOnly(full))],
  ['the view of a tensor', () => typeIndex(tensorView(full))],
  ['a callback', () => kernelCall(callback, 1)],
  ['a new callback', () => kernelCall(() => 0, 1)],
  ['bytes', () => typeIndex(new Uint8Array(100))],
  ['an array', () => typeIndex([callback, 'text that is longer than its slot'])],
  ['an object that may be moved', () => typeIndex(rvalue(list))],
])('a call for which the stack of JavaScript has no room leaves no marks, with %s', (_, call) => {
  const refused = [1, 2, 3].map(() => fillStack(call))
  expect(Math.min(...refused)).toBeGreaterThan(0)
  expect([stack.top, stack.depth]).toEqual([0, 0])
  expect(echo(5)).toBe(5)
  expect(left()).toEqual([0, 0, 0, 0, 0])
  expect(full.gate.calls).toBe(0)
  expect(list.isAlive).toBe(true)
  expect(echo(full)).toBe(full)
})
