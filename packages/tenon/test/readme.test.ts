import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageBlocks, readerDirectory } from './reader.ts'
import { runTenon } from './run-tenon.ts'

let directory: string
beforeAll(() => {
  directory = readerDirectory()
})
afterAll(() => rmSync(directory, { recursive: true }))

interface Session {
  readonly words: string[]
  /** The number of lines that `head` keeps. */
  readonly limit: number
  readonly shown: string
}

/** The commands in a `console` block, with the output that the page shows. */
function sessions(block: string): Session[] {
  return block
    .split(/^\$ tenon /m)
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
  // The page about packages of kernels has a test of its own.
  const consoles = pageBlocks.filter(({ language, page }) => language === 'console' && page !== 'docs/authoring.md')

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
      expect(block.match(/^\$ .*$/gm)!.every((line) => line.startsWith('$ tenon '))).toBe(true)
      for (const { words, limit, shown } of sessions(block)) {
        const { code, stdout, stderr } = runTenon(words, { cwd: directory })
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        const lines = stdout.split('\n').slice(0, -1).slice(0, limit)
        expect(`${lines.join('\n')}\n`).toMatch(pattern(shown))
      }
    },
  )
}
