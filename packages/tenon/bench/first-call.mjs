/** A program that imports `tenon` and makes one call. `start.bench.ts` measures it as a whole process. */
import { f32, Library, tensor } from 'tenon'

const library = Library.open(process.argv[2])
const rmsNorm = library.customCall('rms_norm')
const x = tensor('f32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8])
const y = rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
if (!(Math.abs(y.at(0, 0) - 0.365_148) < 1e-5)) throw new Error(`rms_norm must return 0.365148, got ${y.at(0, 0)}.`)
library.close()
