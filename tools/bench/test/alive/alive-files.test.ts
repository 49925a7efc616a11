import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAliveFiles, tasksOf } from '../../src/alive/alive-files.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-alive-'))
  for (const name of ['scope', 'core']) {
    mkdirSync(join(directory, 'packages', name, 'bench'), { recursive: true })
    writeFileSync(join(directory, 'packages', name, 'bench/alive.ts'), '')
  }
  writeFileSync(
    join(directory, 'twice.mjs'),
    "export const suite = { package: 'x', rows: [{ name: 'a' }, { name: 'a' }] }",
  )
  writeFileSync(join(directory, 'empty.mjs'), '')
  const rows = [
    { name: 'ours', target: { growth: 'peer', ratio: { given: 2 } } },
    { name: 'peer' },
    { name: 'other' },
    { name: 'given' },
  ]
  writeFileSync(join(directory, 'targets.mjs'), `export const suite = { package: 'x', rows: ${JSON.stringify(rows)} }`)
})

afterAll(() => rmSync(directory, { recursive: true }))

function find(...packages: string[]): string[] {
  return findAliveFiles(packages, directory).map((file) => relative(directory, file).split(/[/\\]/)[1]!)
}

test('findAliveFiles() returns the files of all packages, or of the named ones', () => {
  expect(find()).toEqual(['core', 'scope'])
  expect(find('@tenon/scope')).toEqual(['scope'])
  expect(() => find('none')).toThrow('none must have a file bench/alive.ts. The packages with one are core, scope.')
})

test('tasksOf() returns the rows whose names contain a text', async () => {
  const file = join(import.meta.dirname, '../fixture/alive.ts')
  expect((await tasksOf([file])).map(({ row }) => row.name)).toEqual(['steady', 'growing', 'failing'])
  expect((await tasksOf([file], 'ing')).map(({ row }) => row.name)).toEqual(['growing', 'failing'])
})

test('tasksOf() also returns the rows with which a row is compared', async () => {
  const tasks = await tasksOf([join(directory, 'targets.mjs')], 'ours')
  expect(tasks.map(({ row }) => row.name)).toEqual(['ours', 'peer', 'given'])
})

test('tasksOf() refuses two rows with one name, and a file without a suite', async () => {
  await expect(tasksOf([join(directory, 'twice.mjs')])).rejects.toThrow('x has two rows with the name a')
  await expect(tasksOf([join(directory, 'empty.mjs')])).rejects.toThrow('must export a `suite`')
})
