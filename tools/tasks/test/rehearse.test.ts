import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { root } from '../src/lib/root.ts'
import { packageManagers } from '../src/rehearse/package-managers.ts'
import { smokePrograms } from '../src/rehearse/smoke.ts'

test('the rehearsal installs by the lines of docs/deployment.md', () => {
  const page = readFileSync(join(root, 'docs/deployment.md'), 'utf8')
  for (const { add } of packageManagers) expect(page).toContain(`${add(['tenon']).join(' ')}\n`)
  const pnpm = packageManagers.find(({ name }) => name === 'pnpm')!
  expect(page).toContain(`${pnpm.add(['tenon', '@tenon/serve']).join(' ')}\n`)
})

test('the rehearsal uses each package with four installers', () => {
  expect(packageManagers.map(({ name }) => name)).toEqual(['npm', 'pnpm', 'Yarn', 'Yarn with node_modules'])
  expect(Object.keys(smokePrograms)).toHaveLength(13)
})
