import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { Library } from '../src/index.ts'

const path = kernelLibrary('kernels')

describe('Library.isolate()', () => {
  test('calls a typed handler in a worker', async () => {
    await using library = await Library.isolate(path)
    const softmax = library.kernel('softmax')
    const x = tensor([
      [1, 2],
      [3, 4],
    ])
    const y = softmax(x, { temperature: 2 })
    using here = Library.open(path)
    expect(y.toArray()).toEqual(here.kernel('softmax')(x, { temperature: 2 }).toArray())
    expect((await softmax.async(x)).toArray()).toEqual(here.kernel('softmax')(x).toArray())
  })
})
