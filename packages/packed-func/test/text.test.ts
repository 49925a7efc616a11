import { describe, expect, it } from 'vitest'
import { packedFunc } from '../src/index.ts'
import { openStack, TEXT_SIZE } from '../src/native/stack.ts'
import { kernel } from './support.ts'

const echo = kernel('echo')
const call = kernel('call')
const stack = openStack()

/** A character of each length in UTF-8, U+0000, and halves of a pair that stand alone. */
const characters = ['a', '\u{7f}', 'é', '€', '😀', '\0', '\ud83d', '\ude00']

/** The text as C sees it: a half of a pair that stands alone is replaced. */
const wellFormed = (text: string): string => Buffer.from(text).toString()

describe('text as the only argument, which native code reads, and as one of two', () => {
  const seen: unknown[] = []
  const collect = packedFunc((...values: string[]) => void seen.push(...values))

  it.each(characters)('arrives with %j at each place of texts of each length up to 80', (character) => {
    for (let length = 1; length <= 80; length++) {
      for (const place of [0, length >> 1, length - 1]) {
        const text = 'x'.repeat(place) + character + 'y'.repeat(length - 1 - place)
        seen.length = 0
        collect(text)
        collect(text, text)
        const expected = wellFormed(text)
        expect(seen).toEqual([expected, expected, expected])
        expect(echo(text)).toBe(expected)
      }
    }
    expect([stack.top, stack.text, stack.undo.length]).toEqual([0, 0, 0])
  })

  it.each(['x', '€'])('arrives where the text region ends, for texts of %j', (character) => {
    // From 2^17 / 3 characters on, a text may not fit, and is passed as an object.
    for (const length of [TEXT_SIZE / 3 - 2, TEXT_SIZE / 3, TEXT_SIZE / 3 + 1, TEXT_SIZE - 1, TEXT_SIZE + 1].map(
      Math.floor,
    )) {
      const text = character.repeat(length)
      seen.length = 0
      collect(text)
      expect(seen[0] === text).toBe(true)
    }
  })
})

it('the text of a call stays while the function makes calls with other text', () => {
  const inner = packedFunc((text: string) => text.length)
  const outer = packedFunc((text: string) => `${text}${inner('z'.repeat(100))}${echo('w'.repeat(50))}`)
  expect(outer('a'.repeat(40))).toBe(`${'a'.repeat(40)}100${'w'.repeat(50)}`)
  expect(call(outer, 'b'.repeat(40))).toBe(`${'b'.repeat(40)}100${'w'.repeat(50)}`)
})

it('text that fills the region during a call is passed as an object', () => {
  const fill = packedFunc((text: string) => echo('€'.repeat(30_000)) === '€'.repeat(30_000) && text.length)
  expect(fill('a'.repeat(40_000))).toBe(40_000)
})
