import { packageFlags } from '@tenon/config/package-flags'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LoadError } from '@tenon/core'
import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'
import { checkKoffi } from '../src/native/driver/check-koffi.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version: installed } = JSON.parse(readFileSync(join(root, 'node_modules/koffi/package.json'), 'utf8')) as {
  version: string
}

test('the versions of koffi with which the core is tested are accepted', () => {
  for (const version of [installed, '3.3.4', '3.3.10', '3.4.0', '3.99.99'])
    expect(() => checkKoffi({ version })).not.toThrow()
  const workspace = readFileSync(join(root, '../../pnpm-workspace.yaml'), 'utf8')
  expect(/^ {2}koffi: (.*)$/m.exec(workspace.slice(workspace.indexOf('catalog:')))?.[1]).toBe('^3.3.4')
})

test.each(['2.9.0', '3.3.3', '4.0.0', '4.0.0-beta.1', '10.0.0', 'x'])(
  'koffi %s is a LoadError with both versions',
  (version) => {
    expect(() => checkKoffi({ version })).toThrow(LoadError)
    expect(() => checkKoffi({ version })).toThrow(`koffi must be 3.3.4 or later, and older than 4.0.0, got ${version}`)
  },
)

test('another version is refused before it loads the core', async () => {
  const { stdout, stderr } = await runScript(
    `import Module from 'node:module'
     const load = Module._load
     Module._load = (name, ...rest) => (name === 'koffi' ? { version: '2.9.0' } : load(name, ...rest))
     const { coreLibrary } = await import('@tenon/core/internal')
     try { coreLibrary() } catch (error) { console.log(error.name, error.sentence) }`,
    { cwd: root, env: { TENON_DRIVER: 'koffi' }, nodeOptions: [...packageFlags, '--no-warnings'] },
  )
  expect(stderr).toBe('')
  expect(stdout).toBe('LoadError koffi must be 3.3.4 or later, and older than 4.0.0, got 2.9.0\n')
})
