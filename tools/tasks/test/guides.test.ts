import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { whyNotRun } from '../src/guides/cannot-run.ts'
import { isShown, sessionsOf } from '../src/guides/console-session.ts'
import { readers } from '../src/guides/readers.ts'
import { siteBlocks } from '../src/guides/site-blocks.ts'

const blockOf = (language: string, lines: readonly string[]): string =>
  `<div class="language-${language} vp-adaptive-theme"><button title="Copy Code" class="copy"></button>` +
  `<span class="lang">${language}</span><pre class="shiki" tabindex="0"><code>` +
  `${lines.map((line) => `<span class="line">${line}</span>`).join('\n')}</code></pre></div>`

test('siteBlocks() reads the text of each block, and the name of its file', () => {
  const html =
    `<p>Text</p><p class="file-name">axpy.c</p>\n${blockOf('c', ['#include &lt;a.h&gt;', '', '<span style="x">f</span>(1);'])}` +
    `<p>more</p>${blockOf('ts', ['const text = &quot;&#39;&amp;lt;&#x27;&quot;'])}`
  expect(siteBlocks(html)).toEqual([
    { language: 'c', file: 'axpy.c', code: '#include <a.h>\n\nf(1);\n' },
    { language: 'ts', file: undefined, code: `const text = "'&lt;'"\n` },
  ])
})

test('sessionsOf() separates commands and what is below them', () => {
  expect(sessionsOf('$ first\na\nb\n$ second\n')).toEqual([
    { command: 'first', shown: ['a', 'b'] },
    { command: 'second', shown: [] },
  ])
})

test('isShown() compares whole outputs, without times, and with ... for any lines', () => {
  expect(isShown(['a.b'], 'a.b\n')).toBe(true)
  expect(isShown(['a.b'], 'axb\n')).toBe(false)
  expect(isShown(['a'], 'a\nb\n')).toBe(false)
  expect(isShown(['a'], '')).toBe(false)
  expect(isShown(['...', 'b', '...'], 'x\ny\nb\nz\n')).toBe(true)
  expect(isShown(['...', 'b'], 'x\nb\nz\n')).toBe(false)
  expect(isShown(['{"time":"2026","level":"info"}'], '{"time":"2027-01-01","level":"info"}')).toBe(true)
  expect(isShown(['{"time":"2026","level":"info"}'], '{"time":"2027-01-01","level":"error"}')).toBe(false)
})

test('whyNotRun() gives a reason for each block that needs another machine, and runs all others', () => {
  const reason = (language: string, code: string, file?: string): string | undefined =>
    whyNotRun({ language, code, file })
  expect(reason('text', 'docker build .\n')).toBe('needs a Docker daemon')
  expect(reason('text', 'kubectl apply\n')).toBe('needs a cluster of Kubernetes')
  expect(reason('text', 'pnpm bench:serve\n')).toBe('needs a checkout of the repository')
  expect(reason('text', 'any output\n')).toBe('shows text or an output, and has no command')
  expect(reason('text', '.version 6.0\n', 'saxpy.ptx')).toBeUndefined()
  for (const language of ['ts', 'sh', 'console', 'c']) expect(reason(language, 'x\n')).toBeUndefined()
})

test('readers with Bun or Deno write the commands that the page about runtimes has for those of Node.js and npm', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/runtimes.md'), 'utf8')
  const [, table = ''] = /^\| on a page .*\n.*\n((?:\|.*\n)+)/m.exec(page) ?? []
  const rows = table.split('\n').slice(0, -1)
  expect(rows.length).toBe(4)
  for (const row of rows) {
    const [node, bun, deno] = Array.from(row.matchAll(/`([^`]+)`/g), ([, command]) => command!)
    expect(readers.bun.commands(node!)).toBe(bun)
    // The reader has the permissions of all guides.
    expect(readers.deno.commands(node!).replace(' --allow-sys --allow-net --allow-run --allow-write', '')).toBe(deno)
  }
  expect(readers.deno.commands('npm install tenon @tenon/serve\n')).toBe('deno add npm:tenon npm:@tenon/serve\n')
  expect(readers.bun.commands('npm install tenon @tenon/serve\n')).toBe('bun add tenon @tenon/serve\n')
  expect(readers.deno.program('checks', 'a.ts', "writeFileSync('/dev/shm/key')")).toContain('--allow-all')
  expect(readers.deno.program('checks', 'a.ts', "writeFileSync('key')")).not.toContain('--allow-all')
  const compile = 'gcc -I "$(npx tenon include)" -o x.so x.c\n'
  expect(readers.deno.commands(compile)).toBe(compile.replace('npx tenon', 'deno x tenon'))
})
