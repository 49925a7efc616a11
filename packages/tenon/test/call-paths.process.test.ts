import { readFileSync } from 'node:fs'
import { coreLibrary } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../../docs/calls.md', import.meta.url), 'utf8')

/** Prints the number of source files of which functions run in one warm call of each kind. */
const program = `
import { Session } from 'node:inspector/promises'
import { Library, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'

const session = new Session()
session.connect()
await session.post('Profiler.enable')

async function filesOf(call) {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  for (let i = 0; i < 3; i++) await call()
  let least = Infinity
  // The garbage collector may run functions of its own during one of the calls.
  for (let i = 0; i < 5; i++) {
    // Begins to count again.
    await session.post('Profiler.takePreciseCoverage')
    const outcome = call()
    if (outcome instanceof Promise) await outcome
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0))
    const urls = ran.map(({ url }) => url)
    least = Math.min(least, urls.filter((url) => /\\/packages\\/[^/]+\\/src\\//.test(url)).length)
  }
  return least
}

const x = tensor([[1, 2, 3]])
const path = ${JSON.stringify(kernelLibrary('kernels'))}
const softmax = Library.open(path).kernel('softmax')
await using library = await Library.isolate(path)
const isolated = library.kernel('softmax')
const counts = [
  await filesOf(() => softmax(x, { temperature: 2 })),
  await filesOf(() => softmax.async(x, { temperature: 2 })),
  await filesOf(() => isolated(x, { temperature: 2 })),
  await filesOf(() => {
    const scope = NativeScope.ofConfined()
    scope.allocate(64).setInt32(0, 1)
    scope.close()
  }),
]
console.log(JSON.stringify(counts))
`

test.runIf(process.platform === 'linux' && coreLibrary().driver.kind === 'node-api')(
  'a warm call runs functions of as many files as the page about calls says',
  async () => {
    const rows = [...page.matchAll(/^\| (?:`softmax|a scope)[^|]*\| (\d+) +\|$/gm)].map(([, files]) => Number(files))
    const { stdout, stderr } = await runScript(program, {
      cwd: new URL('..', import.meta.url).pathname,
      nodeOptions: ['--conditions=@tenon/source', '--no-warnings'],
    })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(rows)
  },
)
