import { ArgumentError } from '@tenon/core'
import { PackedFuncTypeError } from '@tenon/packed-func'
import { StringTensor } from '@tenon/tstring'
import { describe, expect, test } from 'vitest'
import { Library, type Tensor } from '../src/index.ts'
import { errorOf, fixturePath } from './isolated.ts'

const texts = ['a', '', 'ß', 'a string that is longer than a struct']

// Workers need Linux.
if (process.platform === 'linux')
  describe('string tensors', () => {
    test.each(['run()', 'async()'])('cross packed, in place both ways, by %s', async (form) => {
      await using library = await Library.isolate(fixturePath('faulty_packed'))
      const echo = library.packed('echo')
      const words = StringTensor.from(texts).to('tf', { storage: 'packed', allocator: library.memory })
      const sent = words.sharedTensor()
      const value = (form === 'run()' ? echo(sent) : await echo.async(sent)) as Tensor
      expect(StringTensor.ofSegment(value.segment, { layout: 'tf', shape: [4] }).toArray()).toEqual(texts)
      expect(library.metrics().copiedBytes).toBe(0)
    })

    test('of memory of this process are copied once', async () => {
      await using library = await Library.isolate(fixturePath('faulty_packed'))
      const sent = StringTensor.from(texts).to('tf', { storage: 'packed' }).sharedTensor()
      const value = library.packed('echo')(sent) as Tensor
      expect(StringTensor.ofSegment(value.segment, { layout: 'tf', shape: [4] }).toArray()).toEqual(texts)
    })

    test('with pointers, and as operands of kernels, are refused', async () => {
      await using kernels = await Library.isolate(fixturePath('faulty'))
      await using functions = await Library.isolate(fixturePath('faulty_packed'))
      const words = StringTensor.from(texts)
      expect(() => words.sharedTensor()).toThrow(ArgumentError)
      const ofKernel = await errorOf(() => kernels.kernel('faulty')(words as never))
      expect(ofKernel).toBeInstanceOf(ArgumentError)
      expect(ofKernel.message).toContain(
        'x of faulty must be a tensor of float32[n], got an object of class StringTensor',
      )
      const ofFunction = await errorOf(() => functions.packed('echo')(words as never))
      expect(ofFunction).toBeInstanceOf(PackedFuncTypeError)
      expect(ofFunction.message).toContain('in another process cannot take an object of class StringTensor')
      for (const library of [kernels, functions]) expect(library.metrics().restarts).toBe(0)
    })
  })
