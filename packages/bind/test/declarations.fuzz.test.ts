import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { readDeclarations } from '../src/read/declarations.ts'
import { tokenize } from '../src/read/tokens.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const options = seconds > 0 ? { numRuns: Infinity, interruptAfterTimeLimit: seconds * 1000 } : { numRuns: 3000 }

const torture = readFileSync(new URL('torture.h', import.meta.url), 'utf8').replaceAll(/^#.*$/gm, '')
const words =
  'struct union enum typedef const int unsigned long * ( ) [ ] { } , ; : = ... static inline __attribute__ ((packed)) __asm__ "x" a b c T 3 _Complex _Atomic [[x]] typeof #define'.split(
    ' ',
  )

const read = (text: string): ReturnType<typeof readDeclarations> =>
  readDeclarations(tokenize(`# 1 "x.h"\n${text}`).tokens)

test('words of C in any order are read or reported, and reading ends', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 60 }), (text) => {
      const { problems, functions } = read(text.join(' '))
      for (const { message } of problems) expect(message).toMatch(/expected|is not closed|is not a type/)
      for (const { name } of functions.values()) expect(name).toMatch(/^\w+$/)
    }),
    options,
  )
})

test('what follows a header with an error is still read', () => {
  const end = '\n;;;; int the_end(void);'
  fc.assert(
    fc.property(
      fc.nat(torture.length),
      fc.nat(40),
      fc.constantFrom('', '(', '}', ';', '*', 'struct', '"'),
      (at, length, inserted) => {
        const broken = torture.slice(0, at) + inserted + torture.slice(at + length)
        const { functions, problems } = read(broken + end)
        // A bracket that is never closed takes the rest of the text with it, and is reported.
        expect(functions.has('the_end') || problems.length > 0).toBe(true)
      },
    ),
    options,
  )
})
