import { ArgumentError, NativeLibrary, ReadOnlyError, Segment, tensor, type Tensor } from '@tenon/core'
import { READ_ONLY, readBinary } from '@tenon/core/internal'
import {
  ApiVersion,
  deviceFunction,
  f32,
  hostCall,
  hostFunction,
  InternalError,
  InvalidArgumentError,
  s32,
  s64,
  temp,
  token,
  u8,
  type XlaError,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { filled, thrownBy } from './kernels.ts'

const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
const { ORIGINAL, STATUS_RETURNING, STATUS_RETURNING_UNIFIED } = ApiVersion
const unified = { apiVersion: STATUS_RETURNING_UNIFIED }

/** Four leaves of 32, 64, 128 and 256 elements. Leaf k has k + 1 as its first element and 1 otherwise. */
const leaves = [32, 64, 128, 256].map((size, k) => filled([size], (i) => (i === 0 ? k + 1 : 1)))
const sums = [32, 65, 130, 259]
const firsts = [1, 2, 3, 4]
const [a, b, c, d] = leaves as [Tensor, Tensor, Tensor, Tensor]

/** Declares memory to be a device's. The convention handles it in the same way. */
function onDevice(on: Tensor, type = 2): Tensor {
  return tensor(on.dtype, on.shape, on.segment, { device: { type, id: 0 } })
}

function expectSums(results: readonly Tensor[]): void {
  expect(results[0]!.toArray().slice(0, 5)).toStrictEqual([...sums, 0])
  expect(results[1]!.toArray().slice(0, 5)).toStrictEqual([...firsts, 0])
}

const sumResults = (): Tensor[] => [tensor('f32', [512]), tensor('f32', [1024])]

describe('ApiVersion', () => {
  test('has the numbers of compiled programs', () => {
    expect(ApiVersion).toStrictEqual({ ORIGINAL: 1, STATUS_RETURNING: 2, STATUS_RETURNING_UNIFIED: 3, TYPED_FFI: 4 })
  })

  test.each([
    [0, /Unknown custom-call API version enum value: 0 \(API_VERSION_UNSPECIFIED\)/],
    [9, /Unknown custom-call API version enum value: 9 \(API_VERSION_UNKNOWN\)/],
    ['1', /Unknown custom-call API version enum value: "1"/],
    [4, /a typed handler is not an untyped custom call/],
  ])('%s is refused', (apiVersion, message) => {
    const make = (): unknown => hostFunction(library, 'set_status', { apiVersion: apiVersion as never })
    expect(make).toThrow(InvalidArgumentError)
    expect(make).toThrow(message)
  })
})

describe('STATUS_RETURNING on the Host', () => {
  const add = hostCall(library, 'checked_add', { apiVersion: STATUS_RETURNING })
  const s32Scalar = (value: number): Tensor => tensor('s32', [], [value])

  test('passes a status, whose default is success', () => {
    expect(add([s32Scalar(2), s32Scalar(3)], { results: [s32([])] }).toArray()).toStrictEqual([5])
  })

  test('makes a failure INTERNAL with the text of the function', () => {
    const error = thrownBy(() => add([s32Scalar(2 ** 31 - 1), s32Scalar(1)], { results: [s32([])] }))
    expect(error).toBeInstanceOf(InternalError)
    expect(error).toMatchObject({ xlaCode: 13, codeName: 'INTERNAL', target: 'checked_add', stage: 'execute' })
    expect((error as XlaError).details['text']).toBe('the sum does not fit into 32 bits')
    expect(add([s32Scalar(1), s32Scalar(1)], { results: [s32([])] }).toArray()).toStrictEqual([2])
  })

  test('refuses an opaque string, which it does not pass', () => {
    for (const apiVersion of [ORIGINAL, STATUS_RETURNING] as const) {
      const made = hostFunction(library, 'checked_add', { apiVersion })
      expect(() => made.prepare({ opaque: 'x' })).toThrow(/opaque must not be given to checked_add/)
    }
  })
})

describe('STATUS_RETURNING_UNIFIED on the Host', () => {
  const copy = hostCall(library, 'copy_opaque', unified)
  const setStatus = hostCall(library, 'set_status', unified)
  const copied = (opaque?: string | Uint8Array): unknown => {
    const [bytes, length] = copy([], { results: [u8([16]), s64([])], ...(opaque === undefined ? {} : { opaque }) })
    const [count] = length.toArray() as [bigint]
    return Buffer.from(bytes.view() as Uint8Array).toString('latin1', 0, Number(count))
  }

  test('passes any bytes as the opaque string, including NULs and none', () => {
    expect(copied('text')).toBe('text')
    expect(copied('text')).toBe('text')
    expect(copied('other')).toBe('other')
    expect(copied(Uint8Array.of(0, 1, 0, 255, 0))).toBe('\0\u0001\0\u00ff\0')
    expect(copied('')).toBe('')
    expect(copied()).toBe('')
    expect(copied('\u00e9')).toBe('\u00c3\u00a9')
    expect(() => copied('\ud800')).toThrow(ArgumentError)
    expect(() => copied(5 as never)).toThrow(ArgumentError)
  })

  const statusOf = (opaque: string | Uint8Array): unknown => {
    try {
      setStatus([], { results: [], opaque })
    } catch (error) {
      return (error as XlaError).details['text']
    }
    return 'success'
  }

  test('keeps the last failure that was set, up to its first NUL', () => {
    expect(statusOf('S')).toBe('success')
    expect(statusOf('F')).toBe('F')
    expect(statusOf('FS')).toBe('success')
    expect(statusOf('SF')).toBe('SF')
    expect(statusOf('F\0tail')).toBe('F')
    expect(statusOf(`F${'x'.repeat(10_000)}`)).toBe(`F${'x'.repeat(10_000)}`)
  })

  test('fails with an empty message', () => {
    expect(statusOf('E')).toBe('')
    expect(() => setStatus([], { results: [], opaque: 'E' })).toThrow(/answered INTERNAL: no message/)
  })

  test('ends a sequence at the first failing call', () => {
    const sequence = (): void => {
      for (const opaque of ['S', 'F1', 'F2']) setStatus([], { results: [], opaque })
    }
    expect(sequence).toThrow(/F1/)
  })
})

test('a library finds the status functions in the core, although it does not depend on it', () => {
  const { imports, needed } = readBinary(kernelLibrary('kernels_runtime'))
  const names = imports.map(({ name }) => name)
  expect(names).toContain('XlaCustomCallStatusSetFailure')
  expect(names).toContain('XlaCustomCallStatusSetSuccess')
  expect(needed.filter((name) => name.includes('tenon'))).toStrictEqual([])
})

describe('tuples on the Host', () => {
  const shape = {
    operands: [[a, [b, c], d]],
    results: [f32([512]), f32([1024])],
  }

  test('are arrays of pointers at any depth', () => {
    const results = sumResults()
    const call = hostFunction(library, 'nested_sums').prepare(shape)
    expect(call.operandTypes).toStrictEqual(leaves.map(({ type }) => type))
    call.run(leaves, results)
    expectSums(results)
    call.close()
  })

  test('pass a tuple as the result like several results', () => {
    const results = sumResults()
    const call = hostFunction(library, 'nested_sums').prepare({ ...shape, results: [shape.results] })
    call.run(leaves, results)
    expectSums(results)
    call.close()
  })

  test('are flattened as in XLA today on request', () => {
    const results = sumResults()
    const call = hostFunction(library, 'flattened_sums').prepare({
      ...shape,
      results: [[f32([512]), [f32([1024])]]],
      tuples: 'flattened',
    })
    call.run(leaves, results)
    expectSums(results)
    call.close()
  })

  test('have no leaf if they are empty, and null pointers for tokens', () => {
    const results = sumResults()
    const call = hostFunction(library, 'flattened_sums').prepare({
      operands: [[a, [], [b, [[]], c]], d, token],
      results: shape.results,
      tuples: 'flattened',
    })
    call.run(leaves, results)
    expectSums(results)
    call.close()
  })

  test('have arrays of their own in bound calls', () => {
    const [first, second] = [sumResults(), sumResults()]
    const call = hostFunction(library, 'nested_sums').prepare(shape)
    const bound = call.bind(leaves, second)
    call.run([filled([32], () => 0), b, c, d], first)
    bound.run()
    expect(first[0]!.toArray().slice(0, 2)).toStrictEqual([0, 65])
    expectSums(second)
    bound.close()
    call.close()
  })

  test('are refused with an unknown layout', () => {
    const made = hostFunction(library, 'nested_sums')
    expect(() => made.prepare({ ...shape, tuples: 'deep' as never })).toThrow(/must be 'nested' or 'flattened'/)
    expect(() => made.prepare({ ...shape, stream: 1n })).toThrow(/stream must not be given to nested_sums/)
    expect(() => made.prepare({ operands: [[a, [3 as never]]] })).toThrow(/operand 0\[1\]\[0\] of .* must be the type/)
  })
})

describe('scratch', () => {
  const reversed = (
    call: ReturnType<ReturnType<typeof hostFunction>['prepare']>,
    values: readonly number[],
  ): unknown => {
    const out = tensor('s32', [4])
    call.run([tensor('s32', [4], values)], [out])
    return out.toArray()
  }
  const shape = { operands: [s32([4])], results: [s32([4]), temp(s32([4]))] }
  const made = hostFunction(library, 'reverse_by_scratch', unified)

  test('belongs to the call, and is aligned to 64 bytes', () => {
    const call = made.prepare(shape)
    expect(call.resultTypes).toStrictEqual([s32([4])])
    expect(reversed(call, [1, 2, 3, 4])).toStrictEqual([4, 3, 2, 1])
    const bound = call.bind([tensor('s32', [4], [5, 6, 7, 8])], [tensor('s32', [4])])
    bound.run()
    bound.close()
    call.close()
  })

  test('can be read by the function that wrote it', () => {
    const call = made.prepare({ ...shape, opaque: 'again' })
    expect(reversed(call, [1, 2, 3, 4])).toStrictEqual([0, 0, 0, 0])
    call.close()
  })

  test('cannot be an operand, and needs a type', () => {
    expect(() => made.prepare({ operands: [temp(s32([4])) as never] })).toThrow(ArgumentError)
    expect(() => temp(5 as never)).toThrow(/type must be the type of a tensor, got 5/)
  })
})

describe('aliases', () => {
  const increment = hostFunction(library, 'increment')
  const shape = { operands: [s32([4])], results: [s32([4])] }

  test('require one memory for operand and result', () => {
    const call = increment.prepare({ ...shape, aliases: [{ operand: 0, result: 0 }] })
    const both = tensor('s32', [4], [1, 2, 3, 4])
    call.run([both], [both])
    expect(both.toArray()).toStrictEqual([2, 3, 4, 5])
    call.bind([both], [both]).close()
    expect(() => call.run([both], [tensor('s32', [4])])).toThrow(
      /aliased results of increment must be in the memory of their operands/,
    )
    expect(() => call.bind([both], [tensor('s32', [4])])).toThrow(ArgumentError)
    call.close()
  })

  test('require an operand that is also a result to be writable', () => {
    const call = increment.prepare({ ...shape, aliases: [{ operand: 0, result: 0 }] })
    const { block, base, byteSize } = tensor('s32', [4]).segment
    const constant = tensor('s32', [4], new Segment(block, base, byteSize, READ_ONLY))
    expect(() => call.run([constant], [constant])).toThrow(ReadOnlyError)
    call.close()
  })

  test.each([
    [
      'an operand out of range',
      [{ operand: 1, result: 0 }],
      /alias 0 of increment: operand must be the index of one of 1/,
    ],
    [
      'a result out of range',
      [{ operand: 0, result: -1 }],
      /alias 0 of increment: result must be the index of one of 1/,
    ],
    ['no numbers', [null], /operand must be the index/],
    ['no array', {}, /the aliases of increment must be an array/],
    [
      'a result twice',
      [
        { operand: 0, result: 0 },
        { operand: 0, result: 0 },
      ],
      /result 0 has an alias already/,
    ],
  ])('%s is refused', (_, aliases, message) => {
    expect(() => increment.prepare({ ...shape, aliases: aliases as never })).toThrow(message)
  })

  test.each([
    ['shape', s32([5]), /must have one type, got int32\[4\] and int32\[5\]/],
    ['element type', f32([4]), /got int32\[4\] and float32\[4\]/],
  ])('another %s is refused', (_, result, message) => {
    const aliases = [{ operand: 0, result: 0 }]
    expect(() => increment.prepare({ operands: [s32([4])], results: [result], aliases })).toThrow(message)
  })
})

describe('the convention of devices, with host memory and an invented stream', () => {
  const facts = deviceFunction(library, 'device_facts', unified)

  test('passes the leaves of operands and results in one array', () => {
    const results = sumResults()
    const call = deviceFunction(library, 'device_sums').prepare({
      operands: [[a, [b, c], d]],
      results: [[f32([512]), f32([1024])]],
    })
    call.run(
      leaves.map((leaf) => onDevice(leaf)),
      results.map((result) => onDevice(result)),
    )
    expectSums(results)
    call.close()
  })

  test('passes stream and opaque string, with and without status', () => {
    for (const apiVersion of [STATUS_RETURNING, STATUS_RETURNING_UNIFIED] as const) {
      const out = tensor('s64', [2])
      const call = deviceFunction(library, 'device_facts', { apiVersion }).prepare({
        results: [s64([2])],
        opaque: 'a\0b',
        stream: 0x1234_5678_9abcn,
      })
      call.run([], [onDevice(out)])
      expect(out.toArray()).toStrictEqual([0x1234_5678_9abcn, 3n])
      call.close()
    }
  })

  test('accepts a stream object of another library', () => {
    const out = tensor('s64', [2])
    using call = facts.prepare({ results: [s64([2])], opaque: 'ab', stream: { handle: 7n } })
    call.run([], [onDevice(out)])
    expect(out.toArray()).toStrictEqual([7n, 2n])
    expect(() => facts.prepare({ results: [s64([2])], stream: {} as never })).toThrow(
      /the address of a stream or an object with a handle/,
    )
  })

  test('puts CustomCall failed in front of a failure', () => {
    const out = onDevice(tensor('s64', [2]))
    const call = facts.prepare({ results: [out], opaque: 'fail: no such kernel' })
    const error = thrownBy(() => call.run([], [out]))
    expect(error).toBeInstanceOf(InternalError)
    expect((error as XlaError).details['text']).toBe('CustomCall failed: fail: no such kernel')
    call.close()
  })

  test('passes null pointers for tokens among operands and results', () => {
    const [x, out] = [onDevice(filled([1], () => 1)), tensor('u8', [4])]
    const call = deviceFunction(library, 'device_nulls').prepare({
      operands: [token, [x, []]],
      results: [[token], u8([4])],
      opaque: '4444',
    })
    call.run([x], [onDevice(out)])
    expect(out.toArray()).toStrictEqual([1, 0, 1, 0])
    call.close()
  })

  test('requires tensors of the CUDA or ROCM device', () => {
    const call = facts.prepare({ results: [s64([2])] })
    expect(() => call.run([], [tensor('s64', [2])])).toThrow(/result 0 of device_facts must be on device type 2/)
    const rocm = deviceFunction(library, 'device_facts', { ...unified, platform: 'ROCM' }).prepare({
      results: [s64([2])],
    })
    expect(() => rocm.run([], [onDevice(tensor('s64', [2]))])).toThrow(/must be on device type 10/)
    rocm.run([], [onDevice(tensor('s64', [2]), 10)])
    const host = hostFunction(library, 'increment').prepare({ operands: [s32([4])], results: [s32([4])] })
    const there = onDevice(tensor('s32', [4]))
    expect(() => host.run([there], [there])).toThrow(/must be on the CPU/)
    for (const made of [call, rocm, host]) made.close()
  })

  test.each([5, -1n, 2n ** 53n, null])('refuses the stream %s', (stream) => {
    expect(() => facts.prepare({ results: [s64([2])], stream: stream as never })).toThrow(
      /must be the address of a stream or an object with a handle/,
    )
  })

  test('refuses other platforms and nested tuples', () => {
    expect(() => deviceFunction(library, 'device_facts', { platform: 'TPU' as never })).toThrow(/'CUDA' or 'ROCM'/)
    expect(() => facts.prepare({ tuples: 'nested' })).toThrow(/must be 'flattened' on devices/)
  })
})
