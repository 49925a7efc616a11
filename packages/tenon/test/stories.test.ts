import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { toJavaScript, withChecks } from '@tenon/config/example-code'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, type PageBlock, pageBlocks, root, runInDirectory, stories } from './reader.ts'
import { tenonShellCommand } from './run-tenon.ts'

const importChecks = `import ${JSON.stringify(new URL('fixtures/check-values.js', import.meta.url).href)};`
const compiler = join(root, 'node_modules/typescript/bin/tsc')

/** The packages that are installed where the reader begins, and their places in the repository. */
const installed = {
  tenon: 'packages/tenon',
  '@tenon/bind': 'packages/bind',
  '@tenon/build': 'packages/build',
  '@tenon/core': 'packages/core',
  '@types/node': 'node_modules/@types/node',
  esbuild: 'packages/tenon/node_modules/esbuild',
}

/** The files that the pages show as `tenon new` has made them, when they show them first. */
const shown = new Set(['src/silu.c', 'tenon.config.ts'])

const succeed = ({ code, stdout, stderr }: Ended): string => {
  expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' })
  return stdout
}

/** A reader who does what a page says, block by block. */
class Reader {
  readonly #directory: string = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-story-')))
  readonly #written = new Set<string>()
  /** The folder in which the reader is. */
  at: string = this.#directory
  #output = ''

  constructor() {
    mkdirSync(join(this.#directory, 'bin'))
    for (const [name, script] of Object.entries(this.#commands()))
      writeFileSync(join(this.#directory, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    for (const [name, path] of Object.entries(installed)) {
      mkdirSync(dirname(join(this.#directory, 'node_modules', name)), { recursive: true })
      symlinkSync(join(root, path), join(this.#directory, 'node_modules', name))
    }
  }

  /** The packages of the repository are installed in the folder above, and so are those that were packed. */
  #commands(): Readonly<Record<string, string>> {
    return {
      npx: `while [ "$1" = --package ]; do shift 2; done
program="$1"
shift
case "$program" in
  tenon) exec ${tenonShellCommand} "$@";;
  tsc) exec "${process.execPath}" "${compiler}" "$@";;
esac
echo "npx: the test does not know $program" >&2
exit 1`,
      npm: `case "$1" in
  init) echo "{ \\"name\\": \\"$(basename "$PWD")\\", \\"version\\": \\"1.0.0\\" }" > package.json; exit;;
  pkg) [ "$*" = 'pkg set type=module' ] && sed -i 's/ }$/, "type": "module" }/' package.json; exit;;
  install) shift;;
  *) echo "npm: the test does not know $1" >&2; exit 1;;
esac
for folder in "$@"; do
  [ -f "$folder/package.json" ] || continue
  cp -R "$folder" "${this.#directory}/node_modules/$(basename "$folder")"
done`,
    }
  }

  /** Runs a program in the folder of the reader, with the commands of `bin`. */
  async run(program: string, ...args: string[]): Promise<string> {
    const path = `${join(this.#directory, 'bin')}:${dirname(process.execPath)}:${process.env['PATH']}`
    return succeed(await runInDirectory(this.at, 'env', [`PATH=${path}`, program, ...args]))
  }

  /** Does what a block says. */
  async follow({ language, code, attributes: { file }, line }: PageBlock): Promise<void> {
    if (file !== undefined) {
      const path = join(this.at, file)
      if (shown.has(file) && !this.#written.has(file)) expect(code).toBe(readFileSync(path, 'utf8'))
      this.#written.add(file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, code)
    } else if (language === 'sh') {
      this.#output = await this.run('sh', '-e', '-c', `${code}\npwd > "${this.#directory}/at"`)
      this.at = readFileSync(join(this.#directory, 'at'), 'utf8').trim()
    } else if (language === 'text') expect(this.#output).toContain(code)
    else if (language === 'ts') {
      writeFileSync(join(this.at, `block-${line}.js`), `${importChecks}${await toJavaScript(withChecks(code))}`)
      await this.run(process.execPath, `block-${line}.js`)
    } else expect(language).toBe('console')
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

if (process.platform === 'linux') {
  describe.each(stories)('%s', (page) => {
    let reader: Reader
    beforeAll(() => {
      reader = new Reader()
    })
    afterAll(() => reader.close())

    // The blocks go on from each other.
    test.for(pageBlocks.filter((block) => block.page === page).map((block) => [block.place, block] as const))(
      '%s does what the page says',
      { timeout: 120_000 },
      async ([, block]) => {
        await expect(reader.follow(block)).resolves.toBeUndefined()
      },
    )

    if (page === 'docs/authoring.md') {
      test('the package passes the type check of its tsconfig.json', { timeout: 120_000 }, async () => {
        expect(basename(reader.at)).toBe('app')
        reader.at = join(dirname(reader.at), 'my-kernels')
        await reader.run(process.execPath, compiler)
      })
    }
  })
}
