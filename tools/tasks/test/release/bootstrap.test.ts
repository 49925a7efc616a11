import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { bootstrapNames, bootstrapVersion } from '../../src/release/bootstrap.ts'
import { project } from './fixture.ts'

/** An npm that knows the name tenon alone. It writes down what it publishes, and its other commands. */
function fakeNpm(): { readonly env: NodeJS.ProcessEnv; readonly read: (file: string) => string } {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-npm-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const packed = [{ name: '@tenon/core', version: bootstrapVersion, integrity: 'sha512-a' }]
  const script = `#!/bin/sh
case "$1 $2" in
  'view tenon') echo '"sha512-b"' ;;
  view*) echo '{"error":{"code":"E404"}}'; exit 1 ;;
  pack*) echo '${JSON.stringify(packed)}' ;;
  publish*) cp "$2"/* ${directory}; shift 2; echo "publish $*" >> ${directory}/log ;;
  *) echo "$*" >> ${directory}/log ;;
esac
`
  writeFileSync(join(directory, 'log'), '')
  writeFileSync(join(directory, 'npm'), script)
  chmodSync(join(directory, 'npm'), 0o755)
  return {
    env: { PATH: `${directory}:${process.env['PATH']}` },
    read: (file) => readFileSync(join(directory, file), 'utf8'),
  }
}

const names = [
  { name: 'tenon', directory: 'packages/tenon' },
  { name: '@tenon/core', directory: 'packages/core' },
]

test('bootstrapNames() publishes an empty version of each new name, deprecated at once, and says what to set up', () => {
  const { env, read } = fakeNpm()
  const told: string[] = []
  expect(bootstrapNames(names, project, env, (line) => told.push(line))).toEqual([
    'https://www.npmjs.com/package/tenon/access: owner/tenon, release.yml, environment npm',
    'https://www.npmjs.com/package/@tenon/core/access: owner/tenon, release.yml, environment npm',
  ])
  expect(told).toEqual(['tenon exists', `publishing @tenon/core@${bootstrapVersion}`])
  expect(read('README.md')).toContain('This version has no contents.')
  const manifest = JSON.parse(read('package.json')) as object
  expect(manifest).toMatchObject({ version: '0.0.0-bootstrap.0', repository: { directory: 'packages/core' } })
  expect(manifest).not.toHaveProperty('scripts')
  expect(read('log').split('\n')).toEqual([
    'publish --tag=bootstrap --access=public --provenance=false',
    `deprecate @tenon/core@${bootstrapVersion} This version has no contents.`,
    '',
  ])
})

test('bootstrapNames() refuses to run in CI, and while project.json has its first values', () => {
  const { env, read } = fakeNpm()
  const run = (changes: object, facts = project): unknown =>
    bootstrapNames(names, facts, { ...env, ...changes }, () => undefined)
  expect(() => run({ CI: 'true' })).toThrow('a person must run this command, and CI is set')
  expect(() => run({}, { ...project, owner: 'OWNER' })).toThrow('project.json must name the real owner, got OWNER')
  expect(read('log')).toBe('')
})
