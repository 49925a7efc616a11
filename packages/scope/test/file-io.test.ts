import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { closeSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'

describe('files and memory', () => {
  const path = join(tmpdir(), `tenon-segment-${process.pid}`)
  const text = 'the bytes of a file'
  writeFileSync(path, text)

  const scopes = {
    confined: () => NativeScope.ofConfined(),
    shared: () => NativeScope.ofShared(),
    implicit: () => ResourceScope.ofImplicit(),
  }
  for (const [name, openScope] of Object.entries(scopes)) {
    test(`a file is read into memory of a scope that is ${name}, and written from it`, () => {
      const scope = openScope()
      const segment = MemorySegment.allocateNative(100, 16, scope)
      const descriptor = openSync(path, 'r+')
      try {
        expect(readSync(descriptor, segment.view(), 0, 100, 0)).toBe(text.length)
        expect(segment.getString(0)).toBe(text)
        expect(writeSync(descriptor, segment.asSlice(4, 5).view(), 0, 5, 4)).toBe(5)
        expect(readFileSync(path, 'utf8')).toBe(text)
        const view = segment.view()
        if (name === 'confined') {
          scope.close()
          expect(() => readSync(descriptor, segment.view())).toThrow(ScopeClosedError)
          expect(() => readSync(descriptor, view)).toThrow(TypeError)
        }
      } finally {
        closeSync(descriptor)
      }
    })
  }

  test('close() throws ScopeHeldError while the system reads into the memory', async () => {
    const scope = NativeScope.ofConfined()
    const segment = scope.allocate(100)
    const file = await open(path)
    try {
      const reading = segment.withViewAsync((view) => file.read(view, 0, 100, 0))
      expect(() => scope.close()).toThrow(ScopeHeldError)
      expect((await reading).bytesRead).toBe(text.length)
      expect(segment.getString(0)).toBe(text)
    } finally {
      await file.close()
    }
    await expect(
      segment.withViewAsync(async () => {
        throw new Error('own')
      }),
    ).rejects.toThrow('own')
    await expect(segment.withViewAsync(1 as never)).rejects.toThrow(ArgumentError)
    scope.close()
    await expect(segment.withViewAsync(async () => {})).rejects.toThrow(ScopeClosedError)
  })
})
