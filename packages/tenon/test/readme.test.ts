import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tensor, writeNpy } from '../src/index.ts'
import { runTenon } from './run-tenon.ts'

const pages = ['../README.md', '../../../README.md']

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-readme-'))
  for (const name of ['kernels', 'packed']) copyFileSync(kernelLibrary(name), join(directory, `lib${name}.so`))
  copyFileSync(new URL('../../../examples/demo/data/iris.npy', import.meta.url), join(directory, 'iris.npy'))
  writeNpy(join(directory, 'x.npy'), tensor('float32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]))
})
afterAll(() => rmSync(directory, { recursive: true }))

interface Session {
  readonly words: string[]
  /** The number of lines that `head` keeps. */
  readonly limit: number
  readonly shown: string
}

/** The commands in the `console` blocks of a page, with the output that the page shows. */
function sessions(page: string): Session[] {
  const text = readFileSync(new URL(page, import.meta.url), 'utf8')
  return [...text.matchAll(/^```console\n(.*?)^```/gms)]
    .flatMap(([, block]) => block!.split(/^\$ tenon /m).slice(1))
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

if (process.platform === 'linux' && process.arch === 'x64')
  test('the READMEs show the actual output of the command', () => {
    for (const page of pages) {
      const found = sessions(page)
      expect(new Set(found.map(({ words }) => words[0]))).toEqual(new Set(['inspect', 'call']))
      for (const { words, limit, shown } of found) {
        const { code, stdout, stderr } = runTenon(words, { cwd: directory })
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        const lines = stdout.split('\n').slice(0, -1).slice(0, limit)
        expect(`${lines.join('\n')}\n`).toMatch(pattern(shown))
      }
    }
  })
