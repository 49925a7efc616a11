/** Searches the documentation of this repository. Strings, vectors and scores are never copied between packages or processes. */
import { fileURLToPath } from 'node:url'
import { PoolsError, spawnDriver, type Driver } from 'tenon/pools'
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

function startDriver(): Promise<Driver> {
  const script = fileURLToPath(new URL('driver.ts', import.meta.url))
  return spawnDriver({ command: [process.execPath, '--disable-warning=ExperimentalWarning', script] })
}

async function search(index: SearchIndex, texts: ReturnType<typeof documentation>): Promise<void> {
  const driver = await startDriver()
  const prepared = await index.prepare(driver, 'SCORE_ROWS')
  for (const query of queries) {
    const [matches, ms] = timed(() => index.search(prepared, query, 2))
    say(`\n"${query}" (${ms} ms, ${(index.operandBytes / 2 ** 20).toFixed(1)} MiB of operands, which are not copied)`)
    for (const { index: at, score } of matches) {
      const { file, words } = texts[at]!
      say(`  ${score.toFixed(2)}  ${file}: ${words.length > 90 ? `${words.slice(0, 87)}...` : words}`)
    }
  }
  prepared.close()
  await driver.closeAsync()
}

async function crash(index: SearchIndex): Promise<void> {
  const driver = await startDriver()
  const prepared = await index.prepare(driver, 'WRITE_NOWHERE')
  try {
    index.search(prepared, 'anything', 1)
  } catch (error) {
    if (!(error instanceof PoolsError)) throw error
    say(`\nA kernel that writes to an invalid address: ${error.status}, and this process continues.`)
  }
  prepared.close()
  await driver.closeAsync()
}

const texts = documentation()
const [index, ms] = timed(() => new SearchIndex(texts.map(({ words }) => words)))
say(`${texts.length} paragraphs of documentation, converted to a string tensor and to vectors in ${ms} ms`)
await search(index, texts)
await crash(index)
index.close()
