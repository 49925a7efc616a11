import { expect, test } from 'vitest'
import { unmangledHint } from '../src/native/missing-symbol.ts'

test.each(['_Z5scaleP17XLA_FFI_CallFrame', '_ZN2ml5scaleEPvPPKv'])(
  'unmangledHint() recognises %s as scale',
  (symbol) => {
    expect(unmangledHint('scale', ['rescale', symbol])).toBe(
      `Declare it extern "C" (TN_XLA_EXPORT), because C++ exports it as ${symbol}.`,
    )
  },
)

test.each([['scale'], ['5scale'], ['_Z7rescalev'], ['_Z6scale2v'], ['_Z15scale_of_a_mapsv'], ['x_Z5scalev']])(
  'unmangledHint() does not recognise %s as scale',
  (symbol) => {
    expect(unmangledHint('scale', [symbol])).toBeUndefined()
  },
)
