import { type MemorySegment, NativeScope } from '@tenon/scope'
import { Linker, upcallStub } from '@tenon/scope/linker'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fuzzBudget } from './support/fuzz-budget.ts'

const unit = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\ud800', '\udfff', '😀', 'é', 'x'),
  fc.nat(300).map((count) => 'long '.repeat(count)),
)
/** Strings of all kinds, also with lone surrogates, without U+0000. */
const texts = fc.array(unit, { maxLength: 6 }).map((parts) => parts.join('').replaceAll('\0', '-'))

test('C gets the UTF-8 of any strings, and a callback gets them back', () => {
  using scope = NativeScope.ofConfined()
  const bytes: Buffer[] = []
  const strings: unknown[] = []
  const onBytes = upcallStub(
    (...pointers: MemorySegment[]) => {
      for (const pointer of pointers) {
        const read: number[] = []
        for (let i = 0; pointer.getUint8(i) !== 0; i++) read.push(pointer.getUint8(i))
        bytes.push(Buffer.from(read))
      }
    },
    { parameters: ['pointer', 'pointer', 'pointer', 'pointer'] },
    scope,
  )
  const onTexts = upcallStub(
    (...values: unknown[]) => void strings.push(...values),
    { parameters: ['text', 'text'] },
    scope,
  )
  const passBytes = Linker.downcall(onBytes, { parameters: ['text', 'text', 'text', 'text'] })
  const passTexts = Linker.downcall(onTexts, { parameters: ['text', 'text'] })
  fc.assert(
    fc.property(texts, texts, texts, texts, (...values) => {
      passBytes(...values)
      expect(bytes.splice(0)).toEqual(values.map((text) => Buffer.from(text)))
      passTexts(values[0], values[1])
      expect(strings.splice(0)).toEqual(values.slice(0, 2).map((text) => text.toWellFormed()))
    }),
    fuzzBudget,
  )
})
