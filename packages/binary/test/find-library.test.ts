import { basename, isAbsolute } from 'node:path'
import { expect, test } from 'vitest'
import { findLibrary, readBinary } from '../src/index.ts'

if (process.platform === 'linux')
  test('a bare name is found where the loader of the system finds it', () => {
    const path = findLibrary('libm.so.6')!
    expect([isAbsolute(path), basename(path)]).toEqual([true, 'libm.so.6'])
    expect(readBinary(path).architectures).toContain(process.arch)
  })

test('a name that does not exist, and a system whose search is not known, find nothing', () => {
  expect(findLibrary('libtenon-missing.so.6')).toBeUndefined()
  expect(findLibrary('libm.so.6', { platform: 'plan9' })).toBeUndefined()
})
