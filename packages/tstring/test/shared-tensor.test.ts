import { expect, test } from 'vitest'
import { StringTensor, type Layout } from '../src/index.ts'

const LONG = 'a string that no struct of any layout has room for'
const structs = ['tf', 'rfc16', 'rfc24'] as const
const TYPES = { tf: 'VIEW', rfc16: 'PREALLOC', rfc24: 'PREALLOC' }

const copied = (strings: StringTensor, layout: Layout): string[] => {
  const bytes = Uint8Array.from(strings.sharedTensor().view())
  return StringTensor.ofSegment(bytes, { layout, shape: [strings.length] }).toArray()
}

test.each(['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const)(
  'a packed %s tensor is read from its bytes alone',
  (layout) => {
    const words = ['', 'short', LONG, '\0'.repeat(300)]
    expect(copied(StringTensor.from(words, { layout, storage: 'packed' }), layout)).toEqual(words)
  },
)

test.each(structs)('a %s tensor with a pointer is refused by the element, and its packed copy is not', (layout) => {
  const words = ['short', LONG]
  for (const [storage, type] of [
    ['arena', TYPES[layout]],
    ['malloc', 'LARGE'],
  ] as const) {
    // prettier-ignore
    using strings = StringTensor.from(words, { layout, storage })
    expect(() => strings.sharedTensor()).toThrow(
      `element 1 must be SMALL or OFFSET to be shared with other processes, got ${type}, which holds a pointer`,
    )
    expect(copied(strings.to(layout, { storage: 'packed' }), layout)).toEqual(words)
  }
})

test('a string that was set to a longer one is refused, and a slice whose strings lie elsewhere', () => {
  const strings = StringTensor.from(['a', LONG], { storage: 'packed' })
  expect(() => strings.slice(0, 1).sharedTensor()).not.toThrow()
  expect(() => strings.slice(1).sharedTensor()).toThrow(/^the strings must lie in one block/)
  strings.set(0, LONG)
  expect(() => strings.sharedTensor()).toThrow(/^element 0 must be SMALL or OFFSET/)
})
