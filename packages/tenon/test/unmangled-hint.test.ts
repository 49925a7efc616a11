import { expect, test } from 'vitest'
import { unmangledHint } from '../src/unmangled-hint.ts'

test.each(['_Z5scaleP17XLA_FFI_CallFrame', '_ZN2ml5scaleEPvPPKv'])('scale became %s', (symbol) => {
  expect(unmangledHint('scale', ['rescale', symbol])).toBe(
    `C++ changed its name to ${symbol}: put extern "C" (TN_XLA_EXPORT) before it.`,
  )
})

test.each([['scale'], ['5scale'], ['_Z7rescalev'], ['_Z6scale2v'], ['_Z15scale_of_a_mapsv'], ['x_Z5scalev']])(
  'scale did not become %s',
  (symbol) => {
    expect(unmangledHint('scale', [symbol])).toBeUndefined()
  },
)
