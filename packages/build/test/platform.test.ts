import { expect, test } from 'vitest'

import { choosePlatform } from '../src/platform.ts'

test('choosePlatform() takes the word for the system', () => {
  const path = 'csrc/{base,pools}/{posix|win32}/*.c'
  expect(choosePlatform(path, 'x86_64-linux-gnu', 'linux')).toBe('csrc/{base,pools}/posix/*.c')
  expect(choosePlatform(path, 'arm64-apple-darwin24.6.0', 'darwin')).toBe('csrc/{base,pools}/posix/*.c')
  expect(choosePlatform(path, 'x86_64-w64-mingw32', 'win32')).toBe('csrc/{base,pools}/win32/*.c')
  expect(choosePlatform(path, 'riscv64-linux-gnu', 'linux')).toBe('csrc/{base,pools}/posix/*.c')
})

test('choosePlatform() takes the word for the calls of the processor', () => {
  const path = 'csrc/{sysv_x64|aapcs64|win64}.S'
  expect(choosePlatform(path, 'x86_64-linux-gnu', 'linux')).toBe('csrc/sysv_x64.S')
  expect(choosePlatform(path, 'x86_64-alpine-linux-musl', 'linux')).toBe('csrc/sysv_x64.S')
  expect(choosePlatform(path, 'x86_64-apple-darwin24.6.0', 'darwin')).toBe('csrc/sysv_x64.S')
  expect(choosePlatform(path, 'x86_64-w64-mingw32', 'win32')).toBe('csrc/win64.S')
  expect(choosePlatform(path, 'aarch64-linux-gnu', 'linux')).toBe('csrc/aapcs64.S')
  expect(choosePlatform(path, 'arm64-apple-darwin24.6.0', 'darwin')).toBe('csrc/aapcs64.S')
})

test('choosePlatform() refuses a processor for which there is no word', () => {
  expect(() => choosePlatform('csrc/{sysv_x64|aapcs64}.S', 'riscv64-linux-gnu', 'linux')).toThrow(
    'one word of {sysv_x64|aapcs64} in csrc/{sysv_x64|aapcs64}.S must be for riscv64-linux-gnu: posix or riscv64',
  )
})
