import fc from 'fast-check'
import { expect, test } from 'vitest'
import { handlerSignatures, handlerText, templateText } from '../src/signatures/handler-signatures.ts'
import { metadataText } from '../src/signatures/metadata-text.ts'
import { parseSidecar } from '../src/signatures/sidecar.ts'
import { SidecarError } from '../src/signatures/sidecar-error.ts'
import { ArgumentError } from '@tenon/core'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 240 } : { numRuns: 3000 }
const timeout = 30_000 + seconds * 1000

const word = fc.constantFrom(
  ...['tenon', 'sha256', 'kernels', 'signature', 'symbol', 'registered', 'platform', 'convention', 'address'],
  ...['__proto__', 'constructor', 'toString', 'typed', 'host', '() -> ()', '', 'a\0', 'a'.repeat(64)],
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.constantFrom(1, true, false, null, 0, -1, 1e300),
    fc.string(),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(word, fc.string()), tie('any'), { maxKeys: 5 }),
  ),
})).any

function expectKernels(bytes: Uint8Array): void {
  try {
    for (const { name, signature, convention } of parseSidecar(bytes, () => 'a'.repeat(64)).kernels) {
      expect(name).not.toBe('')
      expect([typeof name, typeof signature]).toEqual(['string', 'string'])
      expect(['typed', 'host', undefined]).toContain(convention)
    }
  } catch (error) {
    expect(error).toBeInstanceOf(SidecarError)
  }
}

test(
  'any JSON gives the kernels of a sidecar or a SidecarError',
  () => {
    const kernels = fc.dictionary(fc.oneof(word, fc.string()), value, { maxKeys: 5 })
    const file = fc.oneof(
      value,
      fc.record({ tenon: fc.constant(1), kernels }),
      fc.record({ tenon: value, sha256: value, kernels: value }),
    )
    fc.assert(
      fc.property(file, (json) => expectKernels(Buffer.from(JSON.stringify(json) ?? ''))),
      budget,
    )
  },
  timeout,
)

test(
  'a sidecar with changed bytes gives kernels or a SidecarError',
  () => {
    const valid = Buffer.from(
      JSON.stringify({
        tenon: 1,
        sha256: 'a'.repeat(64),
        kernels: { f: '() -> ()', g: { signature: '() -> ()', symbol: 'h' }, n: { signature: '', registered: true } },
      }),
    )
    const change = fc.tuple(fc.nat(valid.length - 1), fc.nat(255))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(valid.length), (changes, end) => {
        const bytes = Buffer.from(valid)
        for (const [at, byte] of changes) bytes[at] = byte
        expectKernels(bytes)
        expectKernels(bytes.subarray(0, end))
      }),
      budget,
    )
  },
  timeout,
)

test(
  'any metadata gives the text of a signature or an ArgumentError',
  () => {
    const type = fc.constantFrom('ffi.Function', 'ffi.Tensor', 'Optional', 'int', 'None', 'toString', '')
    const schema = fc.letrec((tie) => ({
      any: fc.record({ type, args: fc.array(tie('any'), { maxLength: 4 }) }, { requiredKeys: [] }),
    })).any
    const json = fc.oneof(schema, value, fc.string())
    fc.assert(
      fc.property(json, fc.boolean(), (inner, isText) => {
        try {
          const text = metadataText(JSON.stringify({ type_schema: isText ? JSON.stringify(inner) : inner }))
          expect(text).toMatch(/^\(.*\) -> \(\)/)
        } catch (error) {
          expect(error).toBeInstanceOf(ArgumentError)
        }
      }),
      budget,
    )
  },
  timeout,
)

test(
  'any symbol gives handlers or nothing',
  () => {
    const parts = [
      ...['I', 'E', 'J', 'N', 'S_', 'S0_', 'S1_', 'SA_', 'St', 'Ss', 'K', 'P', 'R', 'F', 'L', 'f', 'i', 'm', 'Lm3E'],
      ...[
        'ILNS0_14ExecutionStageE3EPFivE',
        'NS0_8internal6ArgTagI',
        '6BufferI',
        '4Span',
        '7Pointer',
        '5State',
        '6CtxTag',
      ],
      ...['NS0_8DataTypeE11E', '6RetTagI', '7AttrTagI', '10Dictionary', '999', '0', '3xla', '3ffi', 'Ln5E'],
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 60 }), fc.boolean(), (words, isHandler) => {
        const start = isHandler ? '_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFivE' : '_ZNK3xla3ffi7HandlerI'
        for (const signature of handlerSignatures([`${start}${words.join('')}E4CallEP17XLA_FFI_CallFrame`])) {
          expect(handlerText(signature).length).toBeLessThan(20_000)
          expect(templateText(signature)?.length ?? 0).toBeLessThan(20_000)
        }
      }),
      budget,
    )
  },
  timeout,
)
