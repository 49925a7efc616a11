import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BinaryFormatError, readBinary } from '@tenon/binary'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSignatures } from '../src/signatures/read-signatures.ts'
import { compileLibrary } from './signature-library.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 900 } : { numRuns: 1000 }
const timeout = 30_000 + seconds * 1000

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-signatures-fuzz-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const source = `
  int typed(void *f) { return f != 0; }
  TN_SIGNATURE(typed, "(x: f32[..., n]) -> (y: f32[..., n]); eps: f32 = 1 -- Typed.");
  void host(void *o) { (void)o; }
  TN_XLA_MARK_HOST(host);
  TN_SIGNATURE(host, "(x: f32[n]) -> (y: f32[n])");
  int __tvm_ffi_add(void *self) { return self != 0; }
  TN_SIGNATURE(add, "(a: T[n], b: T[n]) -> (c: T[n])");
  int _ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFivEJNS0_8internal6ArgTagINS0_9AnyBufferEEEEE4CallEv(void) { return 0; }
`

if (process.platform === 'linux')
  test(
    'a library with changed bytes gives signatures or a BinaryFormatError',
    () => {
      const path = compileLibrary(directory, source)
      const image = readFileSync(path)
      expect(readSignatures(path, readBinary(path))).toHaveLength(3)
      // The texts, their names and the tables of symbols are where changes matter.
      const places = ['typed__tn', 'host__tn', '(x: f32[', '_ZNK3xla'].map((text) => image.indexOf(text))
      const place = fc.oneof(
        ...places.map((start) => fc.nat(200).map((offset) => start + offset)),
        fc.nat(0x400),
        fc.nat(image.length - 1),
      )
      const change = fc.tuple(place, fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.nat(255)))
      const changed = join(directory, 'libchanged.so')
      fc.assert(
        fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
          const bytes = Buffer.from(image)
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte
          writeFileSync(changed, bytes)
          try {
            for (const { signature } of readSignatures(changed, readBinary(changed)))
              expect(signature.name).not.toBe('')
          } catch (error) {
            expect(error).toBeInstanceOf(BinaryFormatError)
          }
        }),
        budget,
      )
    },
    timeout,
  )
