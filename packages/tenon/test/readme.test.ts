import { runtime } from '@tenon/core/internal'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageBlocks, readerDirectory, runInDirectory, stories } from './reader.ts'
import { runTenon } from './run-tenon.ts'

// The pages whose blocks go on from each other, and the one about serving, have tests of their own.
const others = new Set([...stories, 'docs/serving.md'])
const consoles = pageBlocks.filter(({ language, page }) => language === 'console' && !others.has(page))

let directory: string
beforeAll(async () => {
  directory = readerDirectory()
  for (const page of new Set(consoles.map((block) => block.page))) await compile(page)
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A block that does nothing but write arrays. */
const writesArrays = (code: string): boolean => /^import .*\n\n(writeNpy\(.*\)\n*)+$/.test(code)

/** Compiles the C blocks of a page as its shell blocks do, and writes its arrays. */
async function compile(page: string): Promise<void> {
  for (const { language, attributes, code } of pageBlocks.filter((block) => block.page === page)) {
    if (language === 'c') writeFileSync(join(directory, attributes['file']!), code)
    if (language === 'ts' && writesArrays(code)) {
      const args = runtime.moduleArguments([], code)
      const { code: exitCode, stderr } = await runInDirectory(directory, process.execPath, args)
      expect({ code, exitCode, stderr }).toEqual({ code, exitCode: 0, stderr: '' })
    }
    for (const line of language === 'sh' ? (code.match(/^gcc .*$/gm) ?? []) : []) {
      const { code: exitCode, stderr } = await runInDirectory(directory, 'sh', ['-e', '-c', line])
      expect({ line, exitCode, stderr }).toEqual({ line, exitCode: 0, stderr: '' })
    }
  }
}

interface Session {
  readonly words: string[]
  /** The number of lines that `head` keeps. */
  readonly limit: number
  readonly shown: string
}

/** The commands in a `console` block, with the output that the page shows. */
function sessions(block: string): Session[] {
  return block
    .split(/^\$ (?:npx )?tenon /m)
    .slice(1)
    .map((session) => {
      const [line, ...shown] = session.trimEnd().split('\n')
      const [command, head] = line!.split(' | head -')
      return {
        words: command!.split(' ').map((word) => word.replaceAll("'", '')),
        limit: head === undefined ? Infinity : Number(head),
        shown: shown.join('\n'),
      }
    })
}

/** Matches any lines for `...`, and any version of glibc, which depends on the machine that built the library. */
function pattern(shown: string): RegExp {
  const lines = shown
    .split('\n')
    .map((line) =>
      line.trim() === '...'
        ? '(?:.*\n)*'
        : `${line.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(/glibc [\d\\.]+/, String.raw`glibc [\d.]+`)}\n`,
    )
  return new RegExp(`^${lines.join('')}$`)
}

if (process.platform === 'linux' && process.arch === 'x64') {
  test('pages show the commands inspect and call', () => {
    const found = consoles.map(({ page, code }) => ({ page, commands: sessions(code).map(({ words }) => words[0]) }))
    for (const page of ['README.md', 'packages/tenon/README.md']) {
      const commands = found.filter((block) => block.page === page).flatMap((block) => block.commands)
      expect(new Set(commands)).toEqual(new Set(['inspect', 'call']))
    }
  })

  test.for(consoles.map((block) => [block.place, block] as const))(
    '%s shows the actual output of the commands',
    ([, { code: block }]) => {
      expect(block.match(/^\$ .*$/gm)!.every((line) => /^\$ (?:npx )?tenon /.test(line))).toBe(true)
      for (const { words, limit, shown } of sessions(block)) {
        const { code, stdout, stderr } = runTenon(words, { cwd: directory })
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        const lines = stdout.split('\n').slice(0, -1).slice(0, limit)
        expect(`${lines.join('\n')}\n`).toMatch(pattern(shown))
      }
    },
  )
}
