import { tensor, type Tensor } from 'tenon'
import { Module, packedFunc, t } from 'tenon/packed-func'
import { checkClose } from './reference.ts'
import { formatNs, medianNs } from './timing.ts'

/** Calls packed functions in both directions, and describes the results. @throws {Error} if a result is wrong */
export function callPacked(libraryPath: string, iris: Tensor): string[] {
  const library = Module.open(libraryPath)
  const x = tensor('float32', [600], Array.from(iris.view() as Float32Array))
  const y = tensor('float32', [600])
  library.get('add_one')(x, y)
  const expected = Float64Array.from(x.view() as Float32Array, (value) => value + 1)
  const difference = checkClose(y.view() as Float32Array, expected, 1e-6)

  const sum = library.get('sum').typed([t.int, t.int], t.int)
  const twice = packedFunc((value: number) => 2 * value)
  const callBack = library.get('call')
  if (sum(20, 22) !== 42 || callBack(twice, 21) !== 42) throw new Error('a packed function returned a wrong result')
  const [there, back] = [medianNs(() => void sum(20, 22)), medianNs(() => void callBack(twice, 21))]

  const failed = library.get('fail_as').tryCall('KeyError')
  if (failed.ok || failed.kind !== 'KeyError') throw new Error('a failure was not reported')
  return [
    `add_one on 600 numbers: within ${difference.toExponential(1)} of double precision, in the tensor's own memory`,
    `sum(20, 22) is 42, in ${formatNs(there)} per call, and a kernel that calls TypeScript takes ${formatNs(back)}`,
    `an error of a kernel keeps its kind: ${failed.kind}, "${failed.sentence}"`,
  ]
}
