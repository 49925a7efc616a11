import { ArgumentError } from '@tenon/core'
import { expect, test } from 'vitest'
import { chooseKernel } from '../src/choose-kernel.ts'
import { typeNamed } from '../src/element-types.ts'
import type { AttributeValue } from '../src/operation.ts'
import type { RegisteredKernel } from '../src/registration.ts'

const kernel = (parts: Partial<RegisteredKernel> = {}): RegisteredKernel => ({
  operation: 'Relu',
  device: 'CPU',
  label: '',
  priority: 0,
  constraints: [],
  index: 0,
  ...parts,
})
const only = (...names: string[]): RegisteredKernel['constraints'] => [
  { attribute: 'T', types: names.map((name) => typeNamed(name)!.code) },
]
const attributes = (names: Readonly<Record<string, string | string[]>>): Map<string, AttributeValue> =>
  new Map(
    Object.entries(names).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((one) => typeNamed(one)!) : typeNamed(value)!,
    ]),
  )
const half = attributes({ T: 'half' })

test('the kernel is the one whose constraints hold', () => {
  const kernels = [kernel({ constraints: only('float') }), kernel({ constraints: only('half', 'bfloat16') })]
  expect(chooseKernel('Relu', kernels, half)).toBe(kernels[1])
  expect(chooseKernel('Relu', kernels, attributes({ T: 'float' }))).toBe(kernels[0])
})

test('a constraint on a list holds for each of its types', () => {
  const listed = kernel({ constraints: [{ attribute: 'Ts', types: [1, 3] }] })
  expect(chooseKernel('Relu', [listed], attributes({ Ts: ['float', 'int32', 'float'] }))).toBe(listed)
  expect(chooseKernel('Relu', [listed], attributes({ Ts: [] }))).toBe(listed)
  expect(() => chooseKernel('Relu', [listed], attributes({ Ts: ['float', 'half'] }))).toThrow(ArgumentError)
})

test('a constraint on an attribute that the operation does not have never holds', () => {
  expect(() => chooseKernel('Relu', [kernel({ constraints: only('half') })], new Map())).toThrow(ArgumentError)
  expect(() => chooseKernel('Relu', [kernel({ constraints: only('half') })], new Map([['T', 5n]]))).toThrow(
    ArgumentError,
  )
})

test('the highest priority is chosen, and two kernels of one priority are an error', () => {
  const kernels = [kernel({ priority: -1 }), kernel({ priority: 2 }), kernel({ priority: 1 })]
  expect(chooseKernel('Relu', kernels, half)).toBe(kernels[1])
  expect(() => chooseKernel('Relu', [...kernels, kernel({ priority: 2, constraints: only('half') })], half)).toThrow(
    'Relu must have one kernel of priority 2 on CPU, got two among those for T = half',
  )
})

test('a kernel for any device is used where the device has none', () => {
  const [cpu, any, own] = [
    kernel({ constraints: only('float') }),
    kernel({ device: 'DEFAULT' }),
    kernel({ device: 'MY_DEVICE' }),
  ]
  expect(chooseKernel('Relu', [cpu, any, own], half)).toBe(any)
  expect(chooseKernel('Relu', [cpu, any, own], attributes({ T: 'float' }))).toBe(cpu)
  expect(chooseKernel('Relu', [cpu, any, own], half, { device: 'MY_DEVICE' })).toBe(own)
  expect(chooseKernel('Relu', [cpu, any], half, { device: 'MY_DEVICE' })).toBe(any)
  expect(() => chooseKernel('Relu', [own], half)).toThrow(
    'Relu must have a kernel on CPU for these element types, got none',
  )
})

test('kernels with labels are chosen by their label alone', () => {
  const [plain, fast] = [kernel(), kernel({ label: 'fast', priority: 5 })]
  expect(chooseKernel('Relu', [plain, fast], half)).toBe(plain)
  expect(chooseKernel('Relu', [plain, fast], half, { label: 'fast' })).toBe(fast)
  expect(() => chooseKernel('Relu', [plain], half, { label: 'fast' })).toThrow('a kernel on CPU with the label "fast"')
})

test('the error lists the constraints of all kernels', () => {
  const kernels = [
    kernel({ constraints: only('float', 'double') }),
    kernel({ device: 'GPU', label: 'x', priority: 3, constraints: only('half') }),
  ]
  expect(() => chooseKernel('Relu', kernels, half)).toThrow(
    expect.objectContaining({
      sentence: 'Relu must have a kernel on CPU for these element types, got none among those for T = half',
      hint: 'The kernels are: CPU, T in float or double; GPU, label "x", priority 3, T in half.',
    }),
  )
})
