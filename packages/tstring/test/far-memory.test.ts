import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NativeError } from '@tenon/core'
import { hasLargeBuffers } from '@tenon/config/large-buffers'
import { MemorySegment, ResourceScope } from '@tenon/scope'
import { afterAll, describe, expect, it } from 'vitest'
import { type Layout, StringTensor } from '../src/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'tstring-'))
const path = join(directory, 'sparse')
const scope = ResourceScope.ofConfined()
afterAll(() => {
  scope.close()
  rmSync(directory, { recursive: true })
})

const SIZE = 2 ** 33 + 2 ** 20
const descriptor = openSync(path, 'w')
ftruncateSync(descriptor, SIZE)
closeSync(descriptor)
const words = ['', 'short', 'a text that does not fit into an element', 'é€😀'.repeat(9)]

if (hasLargeBuffers) {
  // A sparse file takes no room where nothing was written.
  const file = MemorySegment.mapFile(path, scope, { access: 'write' })

  describe.each([2 ** 31, 2 ** 32, 2 ** 33])('tensors of packed layouts at the offset %i', (offset) => {
    it.each<Layout>(['tf', 'tflite', 'rfc16', 'legacy'])('have the same strings as near ones: %s', (layout) => {
      const near = StringTensor.from(words).to(layout, { storage: 'packed' })
      const bytes = near.segment
      for (const at of [offset - 64, offset, offset + 64]) {
        const far = file.asSlice(at, bytes.byteSize)
        far.copyFrom(MemorySegment.ofSegment(bytes))
        const tensor = StringTensor.ofSegment(far, { layout, shape: [words.length] })
        expect(tensor.toArray()).toEqual(words)
        expect(words.map((word, i) => tensor.equals(i, word))).toEqual(words.map(() => true))
        expect(tensor.to('rfc16').toArray()).toEqual(words)
        const { data, offsets } = tensor.toArrowUtf8()
        expect(
          words.map((_, i) => Buffer.from(data.subarray(Number(offsets[i]), Number(offsets[i + 1]))).toString()),
        ).toEqual(words)
      }
    })
  })
} else {
  it('a file that is larger than the buffers of this runtime cannot be read', () => {
    const mapped = MemorySegment.mapFile(path, scope)
    expect(() => mapped.getUint8(0)).toThrow(NativeError)
    expect(() => mapped.getUint8(0)).toThrow('the buffers of the runtime have a largest size: 4 GiB in Bun')
  })
}
