import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { text } from '../generate/call-forms.ts'
import { text as stubText } from '../generate/stub-forms.ts'
import { callForms } from '../src/generated/call-forms.ts'
import { stubForms } from '../src/generated/stub-forms.ts'
import { gcAllocator } from '../src/memory/allocators.ts'
import { ManagedLifetime } from '../src/memory/managed-lifetime.ts'
import type { Value } from '../src/native/argument-conversion.ts'
import { makeStub, type Stub } from '../src/native/call/stubs.ts'
import { bindFunction } from '../src/native/native-function.ts'
import { NativeLibrary } from '../src/native/native-library.ts'
import type { ValueType } from '../src/native/value-type.ts'

test('src/generated/call-forms.ts is the output of generate/call-forms.ts', () => {
  expect(readFileSync(new URL('../src/generated/call-forms.ts', import.meta.url), 'utf8')).toBe(text)
})

test('src/generated/stub-forms.ts is the output of generate/stub-forms.ts', () => {
  expect(readFileSync(new URL('../src/generated/stub-forms.ts', import.meta.url), 'utf8')).toBe(stubText)
})

const stubs: Stub[] = []
afterAll(() => {
  for (const stub of stubs) stub.close()
})

const scalarTypes = ['int32', 'float64', 'int64', 'uint8', 'float32', 'uint64'] as const
const scalars: readonly Value[] = [-7, 0.1, -(2n ** 63n), 255, 0.5, 2n ** 64n - 1n]

describe.each(Object.keys(callForms))('the form for the order %s', (order) => {
  const kinds = [...order].map((letter, i): ValueType => (letter === 'p' ? 'pointer' : scalarTypes[i]!))
  const memory = kinds.map(() => gcAllocator.allocate(16, 8))
  const values: Value[] = kinds.map((kind, i) => (kind === 'pointer' ? memory[i]! : scalars[i]))
  const received: unknown[] = []
  // Stubs of different packages receive different values for a pointer, but the same for an integer of 64 bits.
  const parameters = kinds.map((kind) => (kind === 'pointer' ? 'uint64' : kind))
  const stub = makeStub(
    { result: 'int32', parameters },
    (...all: unknown[]) => {
      received.push(...all)
      return all.length
    },
    {},
    'collect',
  )
  stubs.push(stub)
  const { gate } = NativeLibrary.ofProcess()
  const call = bindFunction(gate, 'collect', stub.address, { result: 'int32', parameters: kinds })

  test('passes every argument, and null as 0', () => {
    for (let i = 0; i < 3; i++) {
      received.length = 0
      expect(call(...values)).toBe(kinds.length)
      expect(received.map(String)).toEqual(
        kinds.map((kind, j) => String(kind === 'pointer' ? memory[j]!.block.address + memory[j]!.base : scalars[j])),
      )
    }
    received.length = 0
    call(...kinds.map((kind, j) => (kind === 'pointer' ? null : scalars[j])))
    expect(received.map(String)).toEqual(kinds.map((kind, j) => String(kind === 'pointer' ? 0 : scalars[j])))
    expect(gate.calls).toBe(0)
  })

  test('refuses each wrong argument by its number, and a wrong number of arguments', () => {
    for (const i of kinds.keys()) {
      expect(() => call(...values.with(i, 'x' as unknown as Value))).toThrow(`argument ${i + 1} of collect must be`)
    }
    const { length } = kinds
    expect(() => call(...values, 0)).toThrow(`collect takes ${length} arguments, got ${length + 1}`)
    if (length > 0)
      expect(() => call(...values.slice(1))).toThrow(`collect takes ${length} arguments, got ${length - 1}`)
  })
})

/** An owner of stubs. */
class Owner extends ManagedLifetime {
  protected override get label(): string {
    return 'the owner'
  }

  protected override release(): void {}
}

test('stubs of different orders run different code, so the engine keeps what it knows about each apart', () => {
  const sources = Object.values(stubForms).map(String)
  expect(new Set(sources).size).toBe(sources.length)
})

// The last two have no generated form.
describe.each([...Object.keys(stubForms), 'sspss', 'pspspsp'])('stubs with the order "%s"', (order) => {
  const kinds = [...order].map((letter, i): ValueType => (letter === 'p' ? 'pointer' : scalarTypes[i % 6]!))
  const memory = kinds.map(() => gcAllocator.allocate(16, 8))
  const values: Value[] = kinds.map((kind, i) => (kind === 'pointer' ? memory[i]! : scalars[i % 6]))
  const expected = kinds.map((kind, i) =>
    kind === 'pointer' ? `pointer ${memory[i]!.block.address + memory[i]!.base}` : scalars[i % 6],
  )
  const owner = new Owner()
  const { gate } = owner
  const place = { gate, pointer: (address: number | bigint) => `pointer ${address}`, withStructs: () => {} }
  let run: (...all: unknown[]) => unknown
  const stub = makeStub({ result: 'int32', parameters: kinds }, (...all) => run(...all), {}, 'the result', place)
  stubs.push(stub)
  const code = NativeLibrary.ofProcess().gate
  const call = bindFunction(code, 'call', stub.address, { result: 'int32', parameters: kinds })

  test('receive every argument, and keep their lifetime open meanwhile', () => {
    const received: unknown[] = []
    run = (...all) => {
      received.push(...all, gate.calls)
      return -7
    }
    expect(call(...values)).toBe(-7)
    expect(received).toEqual([...expected, 1])
    expect(gate.calls).toBe(0)
  })

  test('throw what their function throws, and leave their lifetime', () => {
    const error = new Error('mine')
    run = () => {
      throw error
    }
    expect(() => call(...values)).toThrow(error)
    for (const wrong of ['x', 0.5, 2 ** 31, 1n << 40n, undefined, memory]) {
      run = () => wrong
      expect(() => call(...values)).toThrow('the result must be')
    }
    expect([gate.calls, code.calls]).toEqual([0, 0])
  })

  test('do not enter a lifetime that closes', () => {
    const counts: number[] = []
    run = () => counts.push(gate.calls)
    owner.addCloseAction(() => call(...values))
    owner.close()
    expect([...counts, gate.calls]).toEqual([0, 0])
  })
})

test.each(['int32', 'int64', 'uint64', 'uint8', 'bool', 'float64', 'float32', 'pointer'] as const)(
  'a stub that returns %s refuses values of other kinds',
  (result) => {
    let value: unknown
    const stub = makeStub({ result, parameters: [] }, () => value, {}, 'the result')
    stubs.push(stub)
    const call = bindFunction(NativeLibrary.ofProcess().gate, 'call', stub.address, { result, parameters: [] })
    const segment = gcAllocator.allocate(8, 8)
    const isFloat = result.startsWith('float')
    const fitting: Record<typeof result, readonly unknown[]> = {
      int32: [-1, 2 ** 31 - 1, -(2 ** 31)],
      int64: [-1n, 2n ** 63n - 1n],
      uint64: [1n, 2n ** 64n - 1n],
      uint8: [255],
      bool: [true, false],
      float64: [0.1, -0, Number.NaN],
      float32: [0.5],
      pointer: [],
    }
    for (value of fitting[result]) expect(call()).toBe(value)
    const numbers = isFloat ? [] : [0.5, Number.NaN, 2 ** 64, Infinity]
    for (value of ['1', undefined, {}, ...numbers, ...(result === 'pointer' ? [0, 8, 8n] : [null, segment])])
      expect(call).toThrow('the result must be')
    if (result !== 'pointer') return
    for (value of [null, segment]) expect(() => call()).not.toThrow()
  },
)
