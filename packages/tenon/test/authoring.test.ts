import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toJavaScript, withChecks } from '@tenon/config/example-code'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ended, type PageBlock, pageBlocks, root, runInDirectory } from './reader.ts'
import { tenonProgram } from './run-tenon.ts'

const blocks = pageBlocks.filter(({ page }) => page === 'docs/authoring.md')
const checks = fileURLToPath(new URL('fixtures/check-values.js', import.meta.url))

let directory: string
/** The folder in which the reader is. */
let at: string
let output = ''
beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-authoring-')))
  at = directory
  mkdirSync(join(directory, 'bin'))
  const commands = {
    npx: `while [ "$1" = --package ]; do shift 2; done
[ "$1" = tenon ] || { echo "npx: the test does not know $1" >&2; exit 1; }
shift
exec "${process.execPath}" "${tenonProgram}" "$@"`,
    // The packages of the repository are installed in the folder above, and so are those that were packed.
    npm: `case "$1" in
  init) echo '{}' > package.json; exit;;
  pkg) [ "$*" = 'pkg set type=module' ] && echo '{ "type": "module" }' > package.json; exit;;
  install) shift;;
  *) echo "npm: the test does not know $1" >&2; exit 1;;
esac
for folder in "$@"; do
  [ -f "$folder/package.json" ] || continue
  cp -R "$folder" "${directory}/node_modules/$(basename "$folder")"
done`,
  }
  for (const [name, script] of Object.entries(commands))
    writeFileSync(join(directory, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const links = {
    tenon: 'packages/tenon',
    '@tenon/build': 'packages/build',
    '@tenon/core': 'packages/core',
    '@types/node': 'node_modules/@types/node',
  }
  for (const [name, path] of Object.entries(links)) {
    mkdirSync(dirname(join(directory, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, path), join(directory, 'node_modules', name))
  }
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const succeed = ({ code, stdout, stderr }: Ended): string => {
  expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' })
  return stdout
}

/** The files that the page shows as `tenon new` has made them, when it shows them first. */
const shown = new Set(['src/silu.c', 'tenon.config.ts'])

/** Runs a program in the folder of the reader, with the commands of `bin`. */
async function run(program: string, ...args: string[]): Promise<string> {
  const path = `${join(directory, 'bin')}:${dirname(process.execPath)}:${process.env['PATH']}`
  return succeed(await runInDirectory(at, 'env', [`PATH=${path}`, program, ...args]))
}

/** What a reader does with a block. */
async function follow({ language, code, attributes: { file }, line }: PageBlock): Promise<void> {
  if (file !== undefined) {
    const path = join(at, file)
    const isFirst = blocks.find((block) => block.attributes['file'] === file)!.line === line
    if (isFirst && shown.has(file)) expect(code).toBe(readFileSync(path, 'utf8'))
    writeFileSync(path, code)
  } else if (language === 'sh') {
    output = await run('sh', '-e', '-c', `${code}\npwd > "${directory}/at"`)
    at = readFileSync(join(directory, 'at'), 'utf8').trim()
  } else if (language === 'text') expect(output).toContain(code)
  else if (language === 'ts') {
    writeFileSync(join(at, `block-${line}.js`), await toJavaScript(withChecks(code)))
    await run(process.execPath, '--import', checks, `block-${line}.js`)
  } else expect(language).toBe('console')
}

if (process.platform === 'linux') {
  // The blocks go on from each other.
  test.for(blocks.map((block) => [block.place, block] as const))(
    '%s does what the page says',
    { timeout: 60_000 },
    async ([, block]) => {
      await expect(follow(block)).resolves.toBeUndefined()
    },
  )

  test('the package passes the type check of its tsconfig.json', { timeout: 60_000 }, async () => {
    expect(basename(at)).toBe('app')
    at = join(directory, 'my-kernels')
    await run(process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  })
}
