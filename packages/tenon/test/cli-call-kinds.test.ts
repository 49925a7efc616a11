import { fileURLToPath } from 'node:url'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { expectRefusal } from './expect-refusal.ts'
import { runTenon, type Finished } from './run-tenon.ts'

const kernels = kernelLibrary('kernels')
const runtime = kernelLibrary('kernels_runtime')
const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}.npy`, import.meta.url))
const call = (...args: string[]): Finished => runTenon(['call', ...args])

describe('every kind of custom call', () => {
  const x = (): string[] => ['--arg', fixture('vector')]
  const y = ['--result', 'f32[5]']

  test.each([1, 2, 3])('a target of several stages, 0.%i', (minor) => {
    const stage = ['--stage', `instantiate=counter_v${minor}_instantiate`]
    const { stdout, stderr } = call(
      kernels,
      `counter_v${minor}`,
      ...stage,
      '--attr',
      'start=s64:7',
      '--result',
      's64[]',
    )
    expect({ stdout, stderr }).toEqual({ stdout: '7\n', stderr: '' })
  })

  test('a handler that the library registers itself', () => {
    const named = call(runtime, 'negate', '--registered', ...x(), ...y, '--json')
    expect(JSON.parse(named.stdout)).toMatchObject({ convention: 'typed', version: '0.3' })
    expectRefusal(call(runtime, 'nobody', '--registered', ...x(), ...y), 3, 'No FFI handler registered for nobody')
  })

  test('results that lie where operands do, and scratch', () => {
    const bounds = ['--attr', 'low=f32:0', '--attr', 'high=f32:0']
    expect(call(kernels, 'clip_v2', ...x(), ...bounds, ...y, '--alias', '0=0').stdout).toBe('[0. 0. 0. 0. 0.]\n')
    expectRefusal(call(kernels, 'clip_v2', ...x(), ...bounds, ...y, '--alias', '0'), 2, 'should be operand=result')
    const scratch = call(kernels, 'clip_v2', ...x(), ...bounds, ...y, '--result', 'temp:f32[5]')
    expectRefusal(scratch, 1, 'Wrong number of results: expected 1 but got 2')
    expectRefusal(call(kernels, 'clip_v2', ...x(), '--result', 'temp:f32[5]:y.npy'), 2, 'scratch goes to no file')
  })

  test('memory of the Host for handlers that ask for that of a device', () => {
    const attrs = ['--attr', 'alignment=s64:16', '--attr', 'forget=pred:false']
    expectRefusal(call(kernels, 'reverse_in_scratch_v1', ...x(), ...attrs, ...y), 1, 'GPU context is not available')
    expect(call(kernels, 'reverse_in_scratch_v1', ...x(), ...attrs, ...y, '--host-scratch').code).toBe(0)
  })

  test('options of typed calls are not for others', () => {
    expectRefusal(call(kernels, 'do_custom_call', '--abi', 'host', '--registered', ...y), 2, 'are for typed calls')
    expectRefusal(call(kernels, 'counter_v1', '--stage', 'execute=f', ...y), 2, 'should be instantiate=symbol')
  })
})

describe('conventions of devices, on a driver that simulates one', () => {
  const cuda = kernelLibrary('kernels_cuda')
  const driver = ['--cuda-driver', kernelLibrary('simulated_cuda')]
  const both = ['--arg', fixture('vector'), '--arg', fixture('vector')]
  const y = ['--result', 'f32[5]']

  test('arrays go to the device and come back', () => {
    // What it is told is none of its options: it leaves its memory as it is.
    const { stdout, code } = call(
      cuda,
      'cuda_saxpy_original',
      '--abi',
      'cuda',
      ...driver,
      ...both,
      ...y,
      '--alias',
      '1=0',
    )
    const copied = call(
      kernels,
      'clip_v1',
      '--arg',
      fixture('vector'),
      '--attr',
      'low=f32:-99',
      '--attr',
      'high=f32:99',
      ...y,
    )
    expect({ stdout, code }).toEqual({ stdout: copied.stdout, code: 0 })
  })

  test('failures of both kinds of functions are told', () => {
    const status = ['cuda_saxpy_status', '--abi', 'cuda-status', '--opaque', 'none']
    expectRefusal(call(cuda, ...status, ...driver, ...both, ...y), 3, 'the opaque string is not that of saxpy')
    const attrs = ['a=f32:1', 'kernel=s64:0', 'launch=s64:0'].flatMap((attr) => ['--attr', attr])
    const typed = call(cuda, 'cuda_saxpy_v2', '--abi', 'cuda-typed', ...driver, ...both, ...attrs, ...y)
    expectRefusal(typed, 1, 'the result must lie where y does')
  })

  test('a driver that is not there, or none, is told', () => {
    const typed = [cuda, 'cuda_saxpy_original', '--abi', 'cuda', ...both, ...y]
    expectRefusal(call(...typed, '--cuda-driver', 'libnodriver.so.1'), 1, 'CUDA is not available')
  })
})
