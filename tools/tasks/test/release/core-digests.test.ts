import { expect, test } from 'vitest'

import { findSetFaults } from '../../src/release/check-set.ts'
import { carryDigests, coreDigestsPath as digestsPath } from '../../src/release/core-digests.ts'
import { packageOf, platformPackage, withFiles, withoutFile } from './fixture.ts'

const core = packageOf({ name: '@tenon/core', version: '1.2.3' }, { [digestsPath]: 'of another build' })
const library = platformPackage('linux-x64-gnu', Buffer.from('a library'))
const other = platformPackage('win32-x64', Buffer.from('another library'))
const carried = carryDigests([core, library, other], '@tenon')

const faults = (...packages: Parameters<typeof findSetFaults>[0]): string[] =>
  findSetFaults(packages, '@tenon', []).filter((fault) => fault.includes(digestsPath))

test('the core carries the digests of the platform packages that are published with it', () => {
  const digests = JSON.parse(carried[0]!.files.get(digestsPath)!.bytes.toString()) as object
  expect(digests).toEqual({
    '@tenon/core-linux-x64-gnu': {
      'libtenon.so': {
        fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        sha256: '31f109ab38348582abdc9e1c9942f74505c719e98c6d0ab6fbcfdccfd8c9935b',
      },
    },
    '@tenon/core-win32-x64': { 'tenon.dll': expect.anything() as object },
  })
  expect(carried.slice(1)).toEqual([library, other])
  expect(faults(...carried)).toEqual([])
  expect(faults(library)).toEqual([])
})

test('a core with other digests, or with none, must not be published', () => {
  const names = '@tenon/core-linux-x64-gnu, @tenon/core-win32-x64'
  const wrong = [`@tenon/core: ${digestsPath} must have the digests of ${names}`]
  expect(faults(core, library, other)).toEqual(wrong)
  expect(faults(carried[0]!, withFiles(library, { 'lib/libtenon.so': 'a library.' }), other)).toEqual(wrong)
  expect(faults(carried[0]!, withFiles(library, { 'lib/more.so': '' }), other)).toEqual(wrong)
  expect(faults(carried[0]!, library)).toEqual([
    `@tenon/core: ${digestsPath} must have the digests of @tenon/core-linux-x64-gnu`,
  ])
  expect(faults(withoutFile(core, digestsPath), library)).toEqual([
    `@tenon/core: must contain ${digestsPath}, with which it compares its libraries`,
  ])
})
