import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { runCommand, ToolError } from '@tenon/build'
import { expect, onTestFinished, test } from 'vitest'

import { readReleasePackages } from '../../src/release/release-package.ts'
import { type PackedFiles, readTarball, writeTarball } from '../../src/release/tarball.ts'

const long = `src/${'a-long-folder/'.repeat(8)}index.ts`

const files: PackedFiles = new Map([
  ['lib/tenon-host', { bytes: Buffer.alloc(1000, 7), executable: true }],
  ['package.json', { bytes: Buffer.from('{ "name": "a", "version": "1.0.0" }'), executable: false }],
  [long, { bytes: Buffer.alloc(512), executable: false }],
])

test('readTarball() reads what writeTarball() writes, and the same files make the same bytes', () => {
  const bytes = writeTarball(files)
  expect(readTarball('a.tgz', bytes)).toEqual(files)
  expect(writeTarball(new Map([...files].toReversed()))).toEqual(bytes)
})

test('tar unpacks what writeTarball() writes', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-tarball-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'a.tgz'), writeTarball(files))
  expect(await runCommand('tar', ['-xzf', 'a.tgz'], { cwd: directory })).toMatchObject({ code: 0 })
  expect(statSync(join(directory, 'package', long)).size).toBe(512)
  // Windows has no such permission.
  if (process.platform !== 'win32') expect(statSync(join(directory, 'package/lib/tenon-host')).mode & 0o777).toBe(0o755)
  const [unpacked] = readReleasePackages([join(directory, 'package')])
  expect([...unpacked!.files.keys()].toSorted()).toEqual([...files.keys()].toSorted())
  expect(readReleasePackages([directory])).toMatchObject([{ name: 'a', version: '1.0.0' }])
})

test('readReleasePackages() says what a path lacks', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-tarball-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  expect(() => readReleasePackages([directory])).toThrow('must be a package, or contain tarballs of packages')
  expect(() => readReleasePackages([join(directory, 'a.tgz')])).toThrow('a.tgz does not exist')
  mkdirSync(join(directory, 'empty'))
  writeFileSync(join(directory, 'a.tgz'), writeTarball(new Map()))
  expect(() => readReleasePackages([directory])).toThrow('a.tgz must contain package.json')
})

test('readTarball() refuses what is not a tarball with an error that the tasks report', () => {
  expect(() => readTarball('a.tgz', Buffer.from('text'))).toThrow(ToolError)
  expect(() => readTarball('a.tgz', Buffer.from('text'))).toThrow('a.tgz is not the tarball of a package')
})
