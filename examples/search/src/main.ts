/** Searches the documentation of this repository. Strings, vectors and scores are never copied between packages or processes. */
import { IsolationError, Library } from 'tenon'
import { nativeLibrary } from './native.ts'
import { SearchIndex } from './search-index.ts'
import { documentation } from './texts.ts'

const queries = [
  'closing memory while a call uses it',
  'strings with invalid UTF-8',
  'memory that processes share with a driver',
]
const say = (text: string): void => console.log(text)

/** Runs a function and measures its time in milliseconds. */
function timed<T>(run: () => T): [result: T, ms: string] {
  const start = performance.now()
  const result = run()
  return [result, (performance.now() - start).toFixed(2)]
}

// The kernels run in a worker, a process of their own, which uses the vectors in place.
const library = await Library.isolate(nativeLibrary('score'))
const texts = documentation()
const [index, ms] = timed(
  () =>
    new SearchIndex(
      texts.map(({ words }) => words),
      library.memory,
    ),
)
say(`${texts.length} paragraphs of documentation, converted to a string tensor and to vectors in ${ms} ms`)

const score = library.kernel('score_rows')
for (const query of queries) {
  const [matches, taken] = timed(() => index.search(score, query, 2))
  say(`\n"${query}" (${taken} ms, ${(index.operandBytes / 2 ** 20).toFixed(1)} MiB of operands, which are not copied)`)
  for (const { index: at, score: similarity } of matches) {
    const { file, words } = texts[at]!
    say(`  ${similarity.toFixed(2)}  ${file}: ${words.length > 90 ? `${words.slice(0, 87)}...` : words}`)
  }
}

try {
  index.search(library.kernel('write_nowhere'), 'anything', 1)
} catch (error) {
  if (!(error instanceof IsolationError)) throw error
  say(`\nA kernel that writes to an invalid address: ${error.sentence}.`)
}
const [best] = index.search(score, queries[0]!, 1)
say(`The next search works: ${texts[best!.index]!.file}.`)
await library.closeAsync()
