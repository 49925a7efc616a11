import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toJavaScript, withChecks } from '@tenon/config/example-code'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  isRecipe,
  type PageBlock,
  pageBlocks,
  pages,
  readerDirectory,
  root,
  runInDirectory,
  stories,
  writePageFiles,
} from './reader.ts'

/** The functions of the checks. Not the flag `--import`, which Deno does not have. */
const importChecks = `import ${JSON.stringify(new URL('fixtures/check-values.js', import.meta.url).href)};`
const inLanguage = (...languages: string[]): PageBlock[] =>
  pageBlocks.filter(({ language, page }) => languages.includes(language) && !stories.includes(page) && !isRecipe(page))
const scripts = inLanguage('ts')
const files = scripts.filter(({ attributes }) => attributes['file'] !== undefined)
const skipped = pageBlocks.filter(({ attributes }) => attributes['no-run'] !== undefined)
const programs = scripts.filter((block) => !files.includes(block) && !skipped.includes(block))

let directory: string
beforeAll(() => {
  directory = readerDirectory()
})
afterAll(() => rmSync(directory, { recursive: true }))

/** The name of the file into which a reader copies a block. */
const fileName = (place: string): string => place.replaceAll(/[^\w]/g, '-')

test('blocks are in languages that these tests know', () => {
  const known = new Set(['ts', 'c', 'cmake', 'make', 'sh', 'console', 'json', 'text', ''])
  expect(pageBlocks.filter(({ language }) => !known.has(language)).map(({ place }) => place)).toEqual([])
})

test('every block is run', () => {
  // A block that cannot run has the reason: `ts no-run=reason`.
  expect(skipped.map(({ place, attributes }) => `${place}: ${attributes['no-run']}`)).toEqual([])
})

/** The pages name libraries and tools of Linux. */
const describeOnLinux = process.platform === 'linux' ? describe : () => {}

// The shell blocks of a page compile its C blocks, and its TypeScript blocks may open the results.
describeOnLinux('C and shell blocks', () => {
  const shell = inLanguage('sh')
  const sources = inLanguage('c')

  test('every C block has a file name, and a command of its page compiles the file', () => {
    const unused = sources.filter(
      ({ page, attributes: { file } }) =>
        file === undefined ||
        !shell.some((block) => block.page === page && /^g(?:cc|\+\+) /m.test(block.code) && block.code.includes(file)),
    )
    expect(unused.map(({ place }) => place)).toEqual([])
  })

  test.for(shell.map((block) => [block.place, block] as const))(
    'the commands of %s succeed',
    async ([, { page, code }]) => {
      writePageFiles(directory, page)
      const { code: exitCode, stderr } = await runInDirectory(directory, 'sh', ['-e', '-c', code])
      // `tenon types` names the files that it writes, and the kernels that it leaves out, and `tenon bind` counts declarations.
      expect({
        exitCode,
        stderr: stderr.replaceAll(/^(?:.*: written|left out, .*|\d+ functions?, .* s)\n/gm, ''),
      }).toEqual({
        exitCode: 0,
        stderr: '',
      })
    },
  )

  test('the handler of the custom-call page is the example of xla_handler.h', () => {
    const header = readFileSync(join(root, 'packages/core/include/tenon/xla_handler.h'), 'utf8')
    const { code } = sources.find(({ attributes }) => attributes['file'] === 'scale.c')!
    const commented = code.trimEnd().replaceAll(/^(.*)$/gm, (line) => ` *   ${line}`.trimEnd())
    expect(header).toContain(commented)
  })
})

test.each(inLanguage('json').map((block) => [block.place, block] as const))(
  '%s is a JSON document',
  (_place, { code }) => {
    expect(() => JSON.parse(code) as unknown).not.toThrow()
  },
)

describeOnLinux('TypeScript blocks', () => {
  test('are found on the pages of every package, and in docs', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/architecture.md', 'docs/errors/load.md']))
    const found = new Set(programs.map(({ page }) => page))
    expect(pages.filter((page) => /^packages\/[^/]+\/README\.md$/.test(page) && !found.has(page))).toEqual([])
  })

  test('that are files are named by another block of their page', () => {
    const unused = files.filter(
      ({ page, attributes }) =>
        !programs.some((block) => block.page === page && block.code.includes(attributes['file']!)),
    )
    expect(unused.map(({ place }) => place)).toEqual([])
  })

  /** Programs of a page run at the same time, and refuse a file that is written again meanwhile. */
  const writeOnce = async ({ attributes, code }: (typeof files)[number]): Promise<void> => {
    const path = join(directory, attributes['file']!)
    const text = await toJavaScript(code)
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text)
  }

  test.concurrent.for(programs.map((block) => [block.place, block] as const))(
    '%s runs alone, and has the values that its comments show',
    { timeout: 120_000 },
    async ([place, { page, code }], { expect: expectHere }) => {
      for (const file of files.filter((other) => other.page === page)) await writeOnce(file)
      const path = `${fileName(place)}.js`
      writeFileSync(join(directory, path), `${importChecks}${await toJavaScript(withChecks(code))}`)
      const { code: exitCode, stderr } = await runInDirectory(directory, process.execPath, [path])
      expectHere({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    },
  )

  test('pass the strict type check of a new project', { timeout: 120_000 }, async () => {
    const packages = [
      'tenon',
      '@tenon/core',
      '@tenon/scope',
      '@tenon/custom-call',
      '@tenon/packed-func',
      '@tenon/pools',
      '@tenon/isolate',
      '@tenon/nnapi',
      '@tenon/tstring',
      '@tenon/binary',
      '@tenon/serve',
    ]
    const unbuilt = packages.filter((name) => !existsSync(join(directory, 'node_modules', name, 'dist/index.d.ts')))
    expect(unbuilt, 'Build the declarations with pnpm build.').toEqual([])
    const options = {
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      lib: ['ESNext'],
      types: ['node'],
      noEmit: true,
    }
    for (const { place, code } of scripts) writeFileSync(join(directory, `${fileName(place)}.ts`), code)
    const tsconfig = { compilerOptions: options, files: scripts.map(({ place }) => `${fileName(place)}.ts`) }
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(tsconfig))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { code, stdout } = await runInDirectory(directory, process.execPath, [compiler, '-p', 'tsconfig.json'])
    expect(stdout).toBe('')
    expect(code).toBe(0)
  })
})
