import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { parseStatusTable, renderStatusTable } from '../src/abi/status-table.ts'
import { makePackage, runBin } from './fixture.ts'

const source =
  '/* A table. */\nTN_STATUS(OK, 0, "success")\nTN_STATUS(SYSTEM, -12, "the system\'s call failed") // why\n'

test('reads the rows and writes them as TypeScript', () => {
  const rows = parseStatusTable(source)
  expect(rows).toEqual([
    { name: 'OK', value: 0, text: 'success' },
    { name: 'SYSTEM', value: -12, text: "the system's call failed" },
  ])
  const rendered = renderStatusTable(rows)
  expect(rendered).toContain("  OK: { value: 0, text: 'success' },\n")
  expect(rendered).toContain(`  SYSTEM: { value: -12, text: "the system's call failed" },\n`)
})

test('refuses a line that it does not understand, and rows that are there twice', () => {
  expect(() => parseStatusTable('TN_STATUS(OK, zero, "success")')).toThrow('no TN_STATUS(NAME, value, "text")')
  expect(() => parseStatusTable('TN_STATUS(A, 0, "a")\nTN_STATUS(A, 1, "b")')).toThrow('the name A twice')
  expect(() => parseStatusTable('TN_STATUS(A, 0, "a")\nTN_STATUS(B, 0, "b")')).toThrow('the value 0 twice')
})

test('--check fails on a stale file, and a build makes it fresh', () => {
  const fixture = makePackage(
    { targets: [], statusTable: { source: 'status.def', output: 'src/status.ts' } },
    { 'status.def': source, 'src/status.ts': '// stale\n' },
  )
  const stale = runBin('build', fixture, ['--check'])
  expect(stale.code).toBe(1)
  expect(stale.stderr).toBe('fixture: src/status.ts is stale. Run tenon-build and commit it.\n')
  expect(readFileSync(join(fixture.directory, 'src/status.ts'), 'utf8')).toBe('// stale\n')
  expect(runBin('build', fixture).code).toBe(0)
  expect(runBin('build', fixture, ['--check']).code).toBe(0)
})
