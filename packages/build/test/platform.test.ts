import { expect, test } from 'vitest'

import { choosePlatform } from '../src/platform.ts'

test('choosePlatform() takes the second word on Windows and the first elsewhere', () => {
  expect(choosePlatform('csrc/{posix|win32}/*.c', 'linux')).toBe('csrc/posix/*.c')
  expect(choosePlatform('csrc/{posix|win32}/*.c', 'darwin')).toBe('csrc/posix/*.c')
  expect(choosePlatform('csrc/{posix|win32}/*.c', 'win32')).toBe('csrc/win32/*.c')
})
