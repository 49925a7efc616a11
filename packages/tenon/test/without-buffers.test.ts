import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toJavaScript, withChecks } from '@tenon/config/example-code'
import { copyCoreWithoutBuffers } from '@tenon/config/without-buffers'
import { coreLibrary } from '@tenon/core/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, pageBlocks, readerDirectory, root, runInDirectory, writePageFiles } from './reader.ts'

const [SHARED, BUFFERS] = ['shared memory needs views of native memory', 'no buffer over native memory can be made']

/** The READMEs whose first examples use memory of another process, of a file or of another library, and the sentence of the error. */
const refused: ReadonlyMap<string, string> = new Map([
  ['packages/isolate/README.md', SHARED],
  ['packages/serve/README.md', SHARED],
  ['packages/weights/README.md', BUFFERS],
])

/** The README whose first example loads a library that the first lines of a shell block of the page compile. */
const compiled = 'packages/tensorflow/README.md'

const readme = /^(packages\/[^/]+\/)?README\.md$/
const firstExamples = [...new Set(pageBlocks.map(({ page }) => page))].flatMap((page) => {
  const first = pageBlocks.find(({ language, page: own }) => own === page && language === 'ts')
  return readme.test(page) && first !== undefined ? [[page, first.code] as const] : []
})

let directory: string
let variable: string
beforeAll(async () => {
  directory = readerDirectory()
  writePageFiles(directory, compiled)
  const shell = pageBlocks.find(
    ({ page, language, code }) => page === compiled && language === 'sh' && code.startsWith('gcc '),
  )
  const { stderr } = await runInDirectory(directory, 'sh', ['-e', '-c', shell!.code.split('\n')[0]!])
  expect(stderr).toBe('')
  mkdirSync(join(directory, 'electron'))
  const core = copyCoreWithoutBuffers(coreLibrary().path, join(directory, 'electron'))
  variable = `process.env.TENON_CORE_LIBRARY = ${JSON.stringify(core)}\n`
}, 120_000)
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs a program in a process without buffers over native memory. */
async function run(code: string): Promise<Ended> {
  const checks = new URL('fixtures/check-values.js', import.meta.url).href
  writeFileSync(join(directory, 'environment.js'), variable)
  const path = `program-${Math.random()}.js`
  writeFileSync(join(directory, path), `import './environment.js'\nimport ${JSON.stringify(checks)}\n${code}`)
  return runInDirectory(directory, process.execPath, [path])
}

if (process.platform !== 'win32' && process.env['TENON_DRIVER'] !== 'koffi') {
  describe('without buffers over native memory, as in Electron', () => {
    test('native memory has no views', async () => {
      const { stdout, stderr } = await run(`
        const { hasNativeBuffers } = await import('@tenon/core/internal')
        console.log(hasNativeBuffers())`)
      expect([stdout, stderr]).toEqual(['false\n', ''])
    })

    test('the READMEs are found', () => {
      const names = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`)
      expect(firstExamples.map(([page]) => page).toSorted()).toEqual(['README.md', ...names].toSorted())
      expect(firstExamples.filter(([page]) => refused.has(page))).toHaveLength(refused.size)
    })

    test.for(firstExamples.filter(([page]) => !refused.has(page)))(
      'the first example of %s runs, and has the values that its comments show',
      async ([, code]) => {
        const { code: exitCode, stderr } = await run(await toJavaScript(withChecks(code)))
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      },
    )

    test.for(firstExamples.filter(([page]) => refused.has(page)))(
      'the first example of %s throws an UnsupportedError that names Electron',
      async ([page, code]) => {
        const { stderr } = await run(await toJavaScript(code))
        expect(stderr).toContain(`UnsupportedError: ${refused.get(page)}`)
        expect(stderr).toContain('Hint: In Electron, ')
      },
    )

    test('what needs views of native memory is an UnsupportedError that says what to do in Electron', async () => {
      const { stdout, stderr } = await run(`
        import { processAllocator } from 'tenon/core'
        import { MemorySegment, ResourceScope } from 'tenon/scope'
        import { SymbolLookup } from 'tenon/scope/linker'
        import { SharedMemory } from 'tenon/pools'
        import { Library } from 'tenon'
        const scope = ResourceScope.ofConfined()
        const pointer = MemorySegment.ofAddress(SymbolLookup.ofProcess().get('strlen').address)
        const refused = {
          reinterpret: () => pointer.reinterpret(4),
          mapFile: () => MemorySegment.mapFile('package.json', scope),
          processAllocator: () => processAllocator.allocate(16),
          SharedMemory: () => SharedMemory.open(),
          isolate: () => Library.isolate('./libsoftmax.so'),
        }
        for (const [name, call] of Object.entries(refused)) {
          try { await call() } catch ({ code, hint }) { console.log(name, code, /In Electron/.test(hint)) }
        }
        scope.close()
        console.log(ResourceScope.stats().openScopes)`)
      expect([stdout, stderr]).toEqual([
        `reinterpret TENON_UNSUPPORTED true
mapFile TENON_UNSUPPORTED true
processAllocator TENON_UNSUPPORTED true
SharedMemory TENON_UNSUPPORTED true
isolate TENON_UNSUPPORTED true
0
`,
        '',
      ])
    })
  })
}
