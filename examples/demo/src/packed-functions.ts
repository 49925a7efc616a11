import { Library, type Tensor } from 'tenon'
import { packedFunc, t } from 'tenon/packed-func'
import { checkClose } from './reference.ts'
import { formatNs, medianNs } from './timing.ts'

/** Calls packed functions in both directions, and describes the results. @throws {Error} if a result is wrong */
export function callPacked(libraryPath: string, iris: Tensor<'float32'>): string[] {
  using library = Library.open(libraryPath)
  const x = iris.reshape([600])
  const y = x.copy()
  library.packed('add_one')(x, y)
  const expected = Float64Array.from(x.view(), (value) => value + 1)
  const difference = checkClose(y.view(), expected, 1e-6)

  const sum = library.packed('sum').typed([t.int, t.int], t.int)
  const twice = packedFunc((value: number) => 2 * value)
  const callBack = library.packed('call')
  if (sum(20, 22) !== 42 || callBack(twice, 21) !== 42) throw new Error('a packed function returned a wrong result')
  const [there, back] = [medianNs(() => void sum(20, 22)), medianNs(() => void callBack(twice, 21))]

  const failed = library.packed('fail_as').tryCall('KeyError')
  if (failed.ok || failed.kind !== 'KeyError') throw new Error('a failure was not reported')
  return [
    `add_one on 600 numbers: within ${difference.toExponential(1)} of double precision, in the tensor's own memory`,
    `sum(20, 22) is 42, in ${formatNs(there)} per call, and a kernel that calls TypeScript takes ${formatNs(back)}`,
    `an error of a kernel keeps its kind: ${failed.kind}, "${failed.sentence}"`,
  ]
}
