import { fileURLToPath } from 'node:url'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { expectRefusal } from './expect-refusal.ts'
import { runTenon, type Finished } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

const kernels = kernelLibrary('kernels')
const runtime = kernelLibrary('kernels_runtime')
const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../weights/test/fixtures/${name}.npy`, import.meta.url))
const call = (...args: string[]): Finished => runTenon(['call', ...args])
const callHere = (...args: string[]): Promise<Finished> => runTenonHere(['call', ...args], process.cwd())

describe('tenon call on every kind of custom call', () => {
  const x = (): string[] => ['--arg', fixture('vector')]
  const y = ['--result', 'f32[5]']

  test.each([1, 2, 3])('calls a target of several stages, version 0.%i', (minor) => {
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

  test('--registered calls a handler that the library registers itself', () => {
    const named = call(runtime, 'negate', '--registered', ...x(), ...y, '--json')
    expect(JSON.parse(named.stdout)).toMatchObject({ convention: 'typed', version: '0.3' })
    expectRefusal(
      call(runtime, 'nobody', '--registered', ...x(), ...y),
      1,
      'does not register a handler or function named "nobody"',
      'tenon inspect --handlers',
    )
    expectRefusal(call(runtime, 'negat', '--registered', ...x(), ...y), 1, 'named "negat"', 'Did you mean negate?')
  })

  test('--registered calls a function of the convention that --abi states', () => {
    const macro = kernelLibrary('kernels_macro')
    const found = call(macro, 'macro_look_up', '--registered', '--abi', 'host', '--result', 's64[2]')
    expect(found).toMatchObject({ stdout: '[1 0]\n', stderr: '' })
    const failing = call(macro, 'macro_failing', '--registered', '--abi', 'host-status', '--result', 'f32[1]')
    expect(failing.stderr).toContain("the macro's function fails")
    expectRefusal(call(macro, 'macro_look_up', '--abi', 'host', '--result', 's64[2]'), 1, 'macro_look_up')
    expectRefusal(
      call(macro, 'macro_ad', '--registered', '--abi', 'host', '--result', 's64[2]'),
      1,
      'named "macro_ad"',
      'Did you mean macro_add?',
    )
  })

  test('--alias shares memory between operand and result, and temp: makes scratch memory', async () => {
    const bounds = ['--attr', 'low=f32:0', '--attr', 'high=f32:0']
    expect((await callHere(kernels, 'clip_v2', ...x(), ...bounds, ...y, '--alias', '0=0')).stdout).toBe(
      '[0. 0. 0. 0. 0.]\n',
    )
    expectRefusal(
      await callHere(kernels, 'clip_v2', ...x(), ...bounds, ...y, '--alias', '0'),
      2,
      'must be operand=result',
    )
    const scratch = await callHere(kernels, 'clip_v2', ...x(), ...bounds, ...y, '--result', 'temp:f32[5]')
    expectRefusal(scratch, 1, 'Wrong number of results: expected 1 but got 2')
    expectRefusal(
      await callHere(kernels, 'clip_v2', ...x(), '--result', 'temp:f32[5]:y.npy'),
      2,
      'scratch memory cannot be written to a file',
    )
  })

  test('--host-scratch gives host memory to handlers that ask for device memory', async () => {
    const attrs = ['--attr', 'alignment=s64:16', '--attr', 'forget=pred:false']
    expectRefusal(
      await callHere(kernels, 'reverse_in_scratch_v1', ...x(), ...attrs, ...y),
      1,
      'GPU context is not available',
    )
    expect((await callHere(kernels, 'reverse_in_scratch_v1', ...x(), ...attrs, ...y, '--host-scratch')).code).toBe(0)
  })

  test('refuses options of typed calls for other conventions', async () => {
    expectRefusal(
      await callHere(kernels, 'do_custom_call', '--abi', 'host', '--host-scratch', ...y),
      2,
      'must be used with a typed call, got --abi host',
    )
    expectRefusal(await callHere(kernels, 'counter_v1', '--stage', 'execute=f', ...y), 2, 'must be instantiate=symbol')
  })
})

describe('device conventions on a simulated driver', () => {
  const cuda = kernelLibrary('kernels_cuda')
  const driver = ['--cuda-driver', kernelLibrary('simulated_cuda')]
  const both = ['--arg', fixture('vector'), '--arg', fixture('vector')]
  const y = ['--result', 'f32[5]']

  test('copies arrays to the device and back', () => {
    // Without an opaque string that it knows, the kernel leaves its memory unchanged.
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

  test('reports failures of status functions and of typed handlers', () => {
    const status = ['cuda_saxpy_status', '--abi', 'cuda-status', '--opaque', 'none']
    expectRefusal(call(cuda, ...status, ...driver, ...both, ...y), 3, 'the opaque string is not that of saxpy')
    const attrs = ['a=f32:1', 'kernel=s64:0', 'launch=s64:0'].flatMap((attr) => ['--attr', attr])
    const typed = call(cuda, 'cuda_saxpy_v2', '--abi', 'cuda-typed', ...driver, ...both, ...attrs, ...y)
    expectRefusal(typed, 1, 'the result must lie where y does')
  })

  test('reports a missing driver', () => {
    const typed = [cuda, 'cuda_saxpy_original', '--abi', 'cuda', ...both, ...y]
    expectRefusal(call(...typed, '--cuda-driver', 'libnodriver.so.1'), 1, 'CUDA is not available')
  })
})
