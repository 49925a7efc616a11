import assert from 'node:assert/strict'
import type { Tensor } from 'tenon'
import { Module, types } from 'tenon/packed-func'
import { evaluate, offer, python, takeOver } from './python.ts'

type Make<T, Values extends readonly unknown[]> = new (...values: Values) => T

/** The classes of xgrammar that the check uses. examples/xgrammar declares more of them. */
interface XGrammar {
  readonly TokenizerInfo: Make<object, [string[], number, number, number[], boolean]>
  readonly GrammarCompiler: Make<{ compileRegex(regex: string): object }, [object, number, boolean, number]>
  readonly GrammarMatcher: Make<
    { fillNextTokenBitmask(mask: Tensor, row: number, debug: boolean): boolean },
    [object, null, boolean, number]
  >
}

/** xgrammar fills a bitmask that NumPy has made, and NumPy reads what xgrammar has written to a tensor of Tenon. */
export function checkMask(library: string): void {
  Module.open(library)
  const xgrammar = types('xgrammar.tvm_ffi_binding') as unknown as XGrammar
  const vocabulary = ['</s>', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))]
  const info = new xgrammar.TokenizerInfo(vocabulary, 0, vocabulary.length, [0], false)
  const compiled = new xgrammar.GrammarCompiler(info, 2, true, -1).compileRegex('[0-9]+')
  const matcher = new xgrammar.GrammarMatcher(compiled, null, false, 100)
  python(`mask = np.zeros((2, 3), dtype='i4')`)
  const mask = takeOver('mask') as Tensor
  assert.equal(matcher.fillNextTokenBitmask(mask, 1, false), true)
  python(`again = np.from_dlpack(${offer(mask)})
bits = np.unpackbits(again[1].view('u1'), bitorder='little')
allowed = [int(one) for one in np.flatnonzero(bits)]`)
  const digits = [...'0123456789'].map((digit) => vocabulary.indexOf(digit))
  assert.deepEqual(evaluate('allowed'), digits)
  assert.deepEqual(evaluate('[mask[0].tolist(), mask.ctypes.data == again.ctypes.data]'), [[0, 0, 0], true])
}
