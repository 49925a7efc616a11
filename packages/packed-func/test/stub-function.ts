import { NativeLibrary } from '@tenon/core'
import { addressOf, coreFunctions, functionAt, makeStub } from '@tenon/core/internal'
import { PackedFunc } from '../src/index.ts'
import { host } from '../src/native/host.ts'
import { TypeIndex } from '../src/native/type-index.ts'

/** The body of a kernel: it gets the addresses of the arguments and of the result, and returns the status. */
export type Body = (args: number, count: number, result: number) => number

/**
 * A native function whose body and destructor are upcall stubs. What the body throws passes through all native code, as from a
 * stub that a kernel calls.
 */
export function stubFunction(body: Body, destructor?: () => void): PackedFunc {
  const kernel = makeStub(
    { result: 'int32', parameters: ['pointer', 'pointer', 'int32', 'pointer'] },
    (_: number, args: number, count: number, result: number) => body(args, count, result),
    {},
    'the status',
  )
  const end =
    destructor === undefined
      ? undefined
      : makeStub({ result: 'void', parameters: ['pointer'] }, () => void destructor(), {}, 'nothing')
  const symbol = Number(NativeLibrary.open(host().ffiPath).symbol('TVMFFIFunctionCreate'))
  const create = functionAt(symbol, 'int32', ['uint64', 'uint64', 'uint64', 'uint64'])
  const out = new BigUint64Array(1)
  if (create(0, kernel.address, end?.address ?? 0, addressOf(out)) !== 0) throw new Error('TVMFFIFunctionCreate failed')
  return new PackedFunc(TypeIndex.Function, Number(out[0]), 'stub')
}

/** A native function that does nothing but run `destructor` at its end. */
export const ending = (destructor: () => void): PackedFunc => stubFunction(() => 0, destructor)

/** The address in a tagged value. */
export function addressIn(value: number): number {
  const copy = new BigUint64Array(1)
  coreFunctions().tn_memory_copy(addressOf(copy), value + 8, 8)
  return Number(copy[0])
}

/** Writes a tagged value with an address. */
export function writeObject(value: number, typeIndex: number, address: number): void {
  const words = new BigUint64Array([BigInt(typeIndex), BigInt(address)])
  coreFunctions().tn_memory_copy(value, addressOf(words), 16)
}
