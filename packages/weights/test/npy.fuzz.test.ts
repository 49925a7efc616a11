import { readFileSync } from 'node:fs'
import { TenonError } from '@tenon/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeNpy } from '../src/npy/npy-array.ts'
import { parsePythonDictionary } from '../src/npy/python-literal.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 500 } : { numRuns: 2000 }
const timeout = 30_000 + seconds * 1000

const images = ['cube-fortran', 'complex64-big-endian', 'version-2', 'refused-structured'].map((name) =>
  readFileSync(new URL(`fixtures/${name}.npy`, import.meta.url)),
)

test(
  'decodeNpy() returns a tensor or throws a TenonError for mutated files',
  () => {
    const mutation = fc.tuple(
      fc.nat(0xff),
      fc.oneof(fc.nat(0xff), fc.constantFrom(...Buffer.from("{}()[],:'0129<>|LTF \n"))),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...images),
        fc.array(mutation, { minLength: 1, maxLength: 8 }),
        fc.nat(300),
        (image, mutations, length) => {
          const bytes = Buffer.from(image.subarray(0, length))
          for (const [position, value] of mutations) if (position < bytes.length) bytes[position] = value
          try {
            const result = decodeNpy(bytes)
            expect(result.type.byteSize).toBeLessThan(bytes.length)
          } catch (error) {
            expect(error).toBeInstanceOf(TenonError)
          }
        },
      ),
      budget,
    )
  },
  timeout,
)

test(
  'parsePythonDictionary() returns a map or throws a TenonError for random headers',
  () => {
    const text = fc
      .array(fc.constantFrom(...'{}()[],:\'"0L\\ \n', 'True', 'descr'), { maxLength: 400 })
      .map((parts) => `{${parts.join('')}`)
    fc.assert(
      fc.property(text, (header) => {
        try {
          expect(parsePythonDictionary(header)).toBeInstanceOf(Map)
        } catch (error) {
          expect(error).toBeInstanceOf(TenonError)
        }
      }),
      budget,
    )
  },
  timeout,
)
