import { hostPlatform } from '@tenon/build'
import { expect, test } from 'vitest'

import { findSetFaults } from '../../src/release/check-set.ts'
import { carryDigests } from '../../src/release/core-digests.ts'
import { compiled, packageOf, platformPackage } from './fixture.ts'

const core = packageOf({ name: '@tenon/core', version: '1.2.3' }, {})

if (hostPlatform.os === 'linux' && hostPlatform.libc === 'gnu') {
  const { name } = hostPlatform
  const label = `@tenon/core-${name}: lib/libtenon.so must be of @tenon/core, version 1.2.3, ABI 1, got`
  const faults = (bytes: Buffer): string[] =>
    findSetFaults(carryDigests([core, platformPackage(name, bytes)], '@tenon'), '@tenon', [])
  const library = (text: string): Buffer => compiled(`const char tn_versions[] = "${text}";\n`, '-s')

  test('the native core has the versions of @tenon/core, which are read without loading it', () => {
    expect(faults(library('version 1.2.3, ABI 1u'))).toEqual([])
    for (const text of ['version 1.2.4, ABI 1', 'version 1.2.3, ABI 2', 'version 1.2.3-next.0, ABI 1'])
      expect(faults(library(text))).toEqual([`${label} ${text}`])
    expect(faults(compiled('int answer;\n', '-s'))).toEqual([`${label} no constant tn_versions`])
  })

  test('without @tenon/core, and for a file that is no library, nothing is compared', () => {
    expect(findSetFaults([platformPackage(name, library('x'))], '@tenon', [])).toEqual([])
    expect(faults(Buffer.from('x'))).toEqual([])
  })
}
