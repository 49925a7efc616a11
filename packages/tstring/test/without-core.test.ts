import { gcAllocator, LoadError } from '@tenon/core'
import { describe, expect, it, vi } from 'vitest'
import { StringTensor } from '../src/index.ts'
import { kernels } from '../src/kernels/choose.ts'
import { scriptKernels } from '../src/kernels/script.ts'
import { awkward, everyLayout } from './helpers.ts'

vi.mock('@tenon/core/internal', async (original) => {
  const gone = (): never => {
    throw new LoadError('the native core of Tenon could not be loaded')
  }
  return { ...(await original<object>()), coreLibrary: gone, coreFunction: gone }
})

const words = ['zero', 'one', 'a string that is longer than a struct', 'žluťoučký kůň', '']

describe('without the C core', () => {
  it('the kernels in JavaScript are chosen', () => expect(kernels()).toBe(scriptKernels))

  it.each(everyLayout)('%s: everything works', (layout) => {
    const tensor = StringTensor.from(words, { layout })
    for (const other of everyLayout) expect(tensor.to(other).toArray()).toEqual(words)
    const packed = tensor.to(layout, { storage: 'packed' })
    expect(StringTensor.over(packed.segment, { layout, shape: [5] }).toArray()).toEqual(words)
    expect([tensor.indexOf('one'), tensor.indexOfInvalid(), [...tensor.compareAll('one')]]).toEqual([
      1,
      -1,
      [1, 0, -1, 1, -1],
    ])
    expect([...tensor.hashes()]).toEqual(words.map((_, i) => tensor.hash(i)))
    expect(tensor.gather([3, 0]).toArray()).toEqual([words[3], words[0]])
    expect(tensor.toArray({ slices: true })).toEqual(words)
    const { data, offsets } = tensor.toArrowUtf8()
    expect(StringTensor.fromArrowUtf8(data, offsets).toArray()).toEqual(words)
    expect(() => StringTensor.over(gcAllocator.allocate(3), { layout: 'tf', shape: [1] })).toThrow(/table-size/)
    expect(StringTensor.from(awkward, { layout }).to('tf').toArray({ invalid: 'latin1' })).toEqual(
      StringTensor.from(awkward).toArray({ invalid: 'latin1' }),
    )
  })

  it('blocks of malloc are what only C has', () => {
    expect(() => StringTensor.from(words, { storage: 'malloc' })).toThrow(LoadError)
    expect(() => StringTensor.from([], { storage: 'malloc' })).toThrow(LoadError)
  })
})
