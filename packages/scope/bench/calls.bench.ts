import type { Suite } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { NativeScope, toCString } from '@tenon/scope'
import koffi from 'koffi'
import { memory } from './support.ts'

const LIBC =
  process.platform === 'win32' ? 'msvcrt.dll' : process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

const POINTER = 'pointer'
const libc = NativeLibrary.open(LIBC)
const raw = koffi.load(LIBC)

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'pass one segment',
      unit: 'ns',
      target: { 'koffi, Buffer': 0.6 },
      setup: () => {
        const { segments, teardown } = memory(16)
        const [segment] = segments
        const buffer = Buffer.alloc(16)
        const strlen = libc.function('strlen', { result: 'int32', parameters: [POINTER] })
        const rawStrlen = raw.func('strlen', 'int', ['void *'])
        return {
          ours: () => strlen(segment),
          peers: { 'koffi, Buffer': () => rawStrlen(buffer) },
          teardown,
        }
      },
    },
    {
      // A C function ignores arguments beyond its own.
      name: 'pass four segments of four scopes',
      unit: 'ns',
      target: { 'koffi, Buffers': 0.4 },
      setup: () => {
        const scopes = [1, 2, 3, 4].map(() => NativeScope.ofConfined())
        const [a, b, c, d] = scopes.map((scope) => scope.allocate(16))
        const [p, q, r, s] = [Buffer.alloc(16), Buffer.alloc(16), Buffer.alloc(16), Buffer.alloc(16)]
        const four = libc.function('strlen', { result: 'int32', parameters: [POINTER, POINTER, POINTER, POINTER] })
        const rawFour = raw.func('strlen', 'int', ['void *', 'void *', 'void *', 'void *'])
        return {
          ours: () => four(a!, b!, c!, d!),
          peers: { 'koffi, Buffers': () => rawFour(p, q, r, s) },
          teardown: () => {
            for (const scope of scopes) scope.close()
          },
        }
      },
    },
    {
      name: 'pass a Buffer',
      unit: 'ns',
      target: { 'koffi, Buffer': 2.5 },
      setup: () => {
        const [ourBuffer, buffer] = [Buffer.alloc(16), Buffer.alloc(16)]
        const strlen = libc.function('strlen', { result: 'int32', parameters: [POINTER] })
        const rawStrlen = raw.func('strlen', 'int', ['void *'])
        return { ours: () => strlen(ourBuffer), peers: { 'koffi, Buffer': () => rawStrlen(buffer) } }
      },
    },
    {
      name: 'pass a text of 8 characters',
      unit: 'ns',
      target: { 'koffi, string': 2 },
      setup: () => {
        const strlen = libc.function('strlen', { result: 'int32', parameters: ['text'] })
        const ofString = raw.func('strlen', 'int', ['const char *'])
        return { ours: () => strlen('a string'), peers: { 'koffi, string': () => ofString('a string') } }
      },
    },
    {
      name: 'pass a text of 200 characters',
      unit: 'ns',
      target: { 'koffi, string': 2 },
      setup: () => {
        const strlen = libc.function('strlen', { result: 'int32', parameters: ['text'] })
        const ofString = raw.func('strlen', 'int', ['const char *'])
        const text = 'ten chars '.repeat(20)
        return { ours: () => strlen(text), peers: { 'koffi, string': () => ofString(text) } }
      },
    },
    {
      name: 'return a text of 25 characters',
      unit: 'ns',
      target: { 'koffi, string': 2 },
      setup: () => {
        const strerror = libc.function('strerror', { result: 'text', parameters: ['int32'] })
        const ofString = raw.func('strerror', 'const char *', ['int'])
        return { ours: () => strerror(2), peers: { 'koffi, string': () => ofString(2) } }
      },
    },
    {
      name: 'an argument made for one call',
      unit: 'ns',
      target: { 'koffi, string': 3.5 },
      setup: () => {
        const strlen = libc.function('strlen', { result: 'int32', parameters: [POINTER] })
        const ofString = raw.func('strlen', 'int', ['const char *'])
        const text = 'the quick brown fox jumps over 1'
        return {
          ours: () => {
            const scope = NativeScope.ofConfined()
            const length = strlen(toCString(text, scope))
            scope.close()
            return length
          },
          peers: { 'koffi, string': () => ofString(text) },
        }
      },
    },
  ],
} satisfies Suite
