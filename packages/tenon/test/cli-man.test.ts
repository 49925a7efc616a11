import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { manPage } from '../src/cli/man-page.ts'
import { runTenon } from './run-tenon.ts'

const root = new URL('../', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { readonly man: string }
const page = fileURLToPath(new URL(manifest.man, root))

test('the manual page of the package is what tenon man prints', () => {
  const { code, stdout, stderr } = runTenon(['man'], { cwd: '/' })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(readFileSync(page, 'utf8')).toBe(stdout)
})

// The workflow installs groff.
if (spawnSync('groff', ['--version']).error === undefined)
  test('the manual page is formatted without warnings, with every command, flag and description', () => {
    const { status, stdout, stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-rLL=10000n', page], {
      encoding: 'utf8',
      env: { ...process.env, GROFF_NO_SGR: '1' },
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    // Bold letters are printed twice, with a backspace between.
    const text = stdout.replaceAll(/.[\b]/g, '').replaceAll(/\s+/g, ' ')
    for (const command of ['inspect', 'call', 'strings', 'serve', 'doctor', 'man']) {
      expect(text).toMatch(new RegExp(`tenon ${command}\\b.* \\[flags\\]`))
      const rows = runTenon([command, '--help']).stdout.matchAll(/^ {2}(--\S+(?: \S+)?|<\w+>) {2,}(.*)$/gm)
      for (const [, term, description] of rows) expect(text).toContain(`${term} ${description}`)
    }
  })

test('texts of commands contain nothing that roff interprets', () => {
  const flags = { path: { type: 'string', valueHint: `C:\\x'y`, description: `.so "a" - 'b'` } } as const
  const text = manPage('1.0.0-beta.1', [{ meta: { name: 'x', description: "'quoted" }, args: flags }])
  expect(text).toContain('.TH TENON 1 "" "tenon 1.0.0\\-beta.1"')
  expect(text).toContain('\n\\(aqquoted.\n')
  expect(text).toContain('\n.B "\\-\\-path C:\\ex\\(aqy"\n\\&.so \\(dqa\\(dq \\- \\(aqb\\(aq\n')
})
