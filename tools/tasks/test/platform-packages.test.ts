import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { loadPackage, type NativePackage } from '@tenon/build'
import { expect, onTestFinished, test } from 'vitest'

import { findFileProblems, platformFiles } from '../src/lib/platform-packages.ts'
import { root } from '../src/lib/root.ts'

const native: NativePackage = {
  targets: [
    { name: 'tenon', kind: 'shared', sources: [], imports: [] },
    { name: 'tenon_node', kind: 'addon', fileName: 'tenon.node', sources: [], imports: [] },
    { name: 'tenon-host', kind: 'executable', sources: [], imports: [], systems: ['linux'] },
    { name: 'fixture', kind: 'shared', fixture: true, sources: [], imports: [] },
    { name: 'core_test', kind: 'test', sources: [] },
  ],
}

test('platformFiles() lists the libraries, the addon and the programs of a platform', () => {
  expect(platformFiles(native, 'linux-x64-gnu')).toEqual(['libtenon.so', 'tenon.node', 'tenon-host'])
  expect(platformFiles(native, 'darwin-arm64')).toEqual(['libtenon.dylib', 'tenon.node'])
  expect(platformFiles(native, 'win32-x64')).toEqual(['tenon.dll', 'tenon.node'])
})

test('the platform packages of the core contain libtenon, tenon.node and tenon-host', async () => {
  const { native: core } = await loadPackage(join(root, 'packages/core'))
  expect(platformFiles(core, 'linux-x64-gnu')).toEqual(
    expect.arrayContaining(['libtenon.so', 'tenon.node', 'tenon-host']),
  )
})

test('findFileProblems() reports a file that is missing, or differs from its digest', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-platform-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const wanted = platformFiles(native, 'darwin-x64').map((file) => file.replace('.dylib', '.so'))
  expect(findFileProblems('pkg', directory, wanted)).toEqual([
    'pkg has no libraries. Run tenon-build --package on its platform.',
  ])

  mkdirSync(join(directory, 'lib'))
  const write = (file: string, text: string): void => writeFileSync(join(directory, 'lib', file), text)
  const sum = (text: string): string => createHash('sha256').update(text).digest('hex')
  write('libtenon.so', 'library')
  write('SHA256SUMS.json', JSON.stringify({ 'libtenon.so': sum('library') }))
  expect(findFileProblems('pkg', directory, wanted)).toEqual(['pkg does not contain tenon.node'])

  write('tenon.node', 'addon')
  const mismatch = ['pkg contains a tenon.node that does not match SHA256SUMS.json']
  expect(findFileProblems('pkg', directory, wanted)).toEqual(mismatch)
  const digests = { 'libtenon.so': sum('library'), 'tenon.node': sum('addon') }
  write('SHA256SUMS.json', JSON.stringify(digests))
  expect(findFileProblems('pkg', directory, wanted)).toEqual([])

  write('tenon.node', 'another')
  expect(findFileProblems('pkg', directory, wanted)).toEqual(mismatch)
  write('SHA256SUMS.json', JSON.stringify({ ...digests, 'tenon.node': sum('another'), 'lost.so': sum('') }))
  expect(findFileProblems('pkg', directory, wanted)).toEqual(['pkg does not contain lost.so'])
})
