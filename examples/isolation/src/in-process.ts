/** Looks a token up in this process. `node src/in-process.ts 2000000000` ends with a signal. */
import { Library, tensor } from 'tenon'
import { nativeLibrary } from './native.ts'

const library = Library.open(nativeLibrary())
const table = tensor([
  [1, 10],
  [2, 20],
])
const rows = library.kernel('lookup')(table, tensor('int32', [1], [Number(process.argv[2])]))
console.log(rows.toNested())
