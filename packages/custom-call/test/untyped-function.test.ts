import { ArgumentError, LoadError, NativeLibrary, ScopeClosedError, tensor } from '@tenon/core'
import { f32, hostCall, hostFunction, UnknownError } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { cppKernels, filled, kernels } from './kernels.ts'

const [b, c] = [filled([128], (i) => i), filled([2048], (i) => i / 4)]
const sums = Array.from({ length: 2048 }, (_, i) => (i % 128) + i / 4)

describe('a function of the ORIGINAL Host convention', () => {
  test('gets the data of its operands and its result', () => {
    const a = hostCall(kernels, 'do_custom_call')([b, c], { results: [f32([2048])] })
    expect(a.toArray()).toStrictEqual(sums)
  })

  test('can be prepared and bound like a typed call', () => {
    const call = hostFunction(kernels, 'do_custom_call').prepare({ operands: [b, c], results: [f32([2048])] })
    const [first, second] = [tensor('f32', [2048]), tensor('f32', [2048])]
    const bound = call.bind([b, c], [second])
    call.run([b, c], [first])
    bound.run()
    expect(first.toArray()).toStrictEqual(sums)
    expect(second.toArray()).toStrictEqual(sums)
    expect(() => call.run([b], [first])).toThrow(ArgumentError)
    expect(() => call.run([c, b], [first])).toThrow(
      /operand 0 of do_custom_call must be float32\[128\], got float32\[2048\]/,
    )
    bound.close()
    call.close()
  })

  test('gets several results as an array of pointers', () => {
    const results = [f32([2]), f32([3])] as const
    const [first, second] = hostCall(kernels, 'split')([filled([5], (i) => i)], { results })
    expect(first.toArray()).toStrictEqual([0, 1])
    expect(second.toArray()).toStrictEqual([2, 3, 4])
  })

  test('may throw an exception, which becomes an error', () => {
    const call = hostFunction(cppKernels, 'throw_from_host_call').prepare({})
    expect(() => call.run([], [])).toThrow(UnknownError)
    expect(() => call.run([], [])).toThrow(/^throw_from_host_call threw a C\+\+ exception: from a host call/)
    call.close()
  })

  test('is refused with an unknown symbol or a closed library', () => {
    expect(() => hostFunction(kernels, 'no_such_function')).toThrow(LoadError)
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const add = hostFunction(library, 'do_custom_call')
    library.close()
    expect(() => add.prepare({ operands: [b, c], results: [f32([2048])] })).toThrow(ScopeClosedError)
  })
})
