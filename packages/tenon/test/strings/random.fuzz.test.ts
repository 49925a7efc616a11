import { readFileSync } from 'node:fs'
import type { Tensor } from '@tenon/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library, type Kernel } from '../../src/index.ts'
import { compileKernels, sizesOf, twiceOf } from './library.ts'

const path = compileKernels()
let library: Library
beforeAll(() => {
  library = Library.open(path)
})
afterAll(() => library.close())

let state = 12345
/** A number below a limit, of a generator that starts alike in each run. */
function random(limit: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0
  return (state >>> 8) % limit
}

const text = (): string =>
  String.fromCodePoint(97 + random(4)).repeat([random(4), random(30), random(2000)][random(3)]!)

test('random strings, stored in all ways, are those that a kernel reads and writes', () => {
  const sizes = library.kernel('sizes') as unknown as Kernel
  const twice = library.kernel('twice') as unknown as Kernel<StringTensor>
  for (let round = 0; round < 300; round++) {
    const texts = Array.from({ length: random(20) }, text)
    const storage = (['arena', 'packed', 'malloc'] as const)[random(3)]!
    using words = StringTensor.from(texts, { storage })
    for (let change = random(5); change > 0 && texts.length > 0; change--) {
      const at = random(texts.length)
      texts[at] = text()
      words.set(at, texts[at]!)
    }
    const start = random(texts.length + 1)
    const part = words.slice(start)
    expect((sizes(part as never) as Tensor).toArray()).toEqual(sizesOf(texts.slice(start)))
    expect(twice(part as never).toArray()).toEqual(twiceOf(texts.slice(start)))
  }
})

test('random bytes in the place of structs are read by no kernel, or lie in the segment', () => {
  const sizes = library.kernel('sizes') as unknown as Kernel
  const { segment } = StringTensor.from([''])
  const view = segment.view()
  let accepted = 0
  for (let round = 0; round < 2000; round++) {
    for (let at = 0; at < 24; at++) view.setUint8(at, random(256))
    try {
      const [size] = (sizes({ layout: 'tf', shape: [1], segment } as never) as Tensor).toArray() as number[]
      expect(size).toBeLessThanOrEqual(24)
      accepted++
    } catch (error) {
      expect(error).toMatchObject({ code: 'TENON_ARGUMENT' })
    }
  }
  expect(accepted).toBeGreaterThan(0)
})

/** The memory of this process in bytes. */
function residentBytes(): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024
}

test.runIf(process.platform === 'linux')('strings that kernels have written are freed', () => {
  const twice = library.kernel('twice') as unknown as Kernel<StringTensor>
  const fail = library.kernel('fail') as unknown as Kernel
  const words = StringTensor.from(['x'.repeat(100_000)])
  const round = (): void => {
    for (let i = 0; i < 200; i++) {
      twice(words as never)
      expect(() => fail(words as never)).toThrow('no luck')
    }
    globalThis.gc?.()
  }
  for (let i = 0; i < 3; i++) round()
  const before = residentBytes()
  for (let i = 0; i < 5; i++) round()
  // Without freeing them, 2,000 strings of 200,000 bytes are 400 MB.
  expect(residentBytes() - before).toBeLessThan(150 * 2 ** 20)
})
