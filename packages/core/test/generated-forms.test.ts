import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { text } from '../generate/call-forms.ts'
import { callForms } from '../src/generated/call-forms.ts'
import { gcAllocator } from '../src/memory/allocators.ts'
import type { Value } from '../src/native/argument-conversion.ts'
import { makeStub, type Stub } from '../src/native/call/stubs.ts'
import { bindFunction } from '../src/native/native-function.ts'
import { NativeLibrary } from '../src/native/native-library.ts'
import type { ValueType } from '../src/native/value-type.ts'

test('src/generated/call-forms.ts is the output of generate/call-forms.ts', () => {
  expect(readFileSync(new URL('../src/generated/call-forms.ts', import.meta.url), 'utf8')).toBe(text)
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
    () =>
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
    expect(() => call(...values.slice(1))).toThrow(`collect takes ${kinds.length} arguments, got ${kinds.length - 1}`)
  })
})
