import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { root } from '../../src/lib/root.ts'
import { capturePnpm } from '../../src/lib/run-tool.ts'

test('the core is not packed alone, without the digests of its libraries', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const args = ['pack', '--pack-destination', directory]
  const { code, stdout, stderr } = await capturePnpm(args, { cwd: join(root, 'packages/core') })
  expect(code).toBe(1)
  expect(`${stdout}${stderr}`).toContain('Run pnpm release:pack DIRECTORY')
  expect(readdirSync(directory)).toEqual([])
})
