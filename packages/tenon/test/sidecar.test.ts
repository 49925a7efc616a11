import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SidecarError } from '../src/signatures/sidecar-error.ts'
import { sidecarPath } from '../src/signatures/sidecar.ts'
import { compileLibrary, signaturesOf as read, summary, writeSidecar } from './signature-library.ts'

const linux = process.platform === 'linux'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-signatures-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const compile = (source: string, name?: string): string => compileLibrary(directory, source, name)

describe('the sidecar', () => {
  test.each([
    ['/a/libkernels.so', '/a/libkernels.tenon.json'],
    ['libkernels.so.1.2', 'libkernels.tenon.json'],
    ['./libkernels.so.1', 'libkernels.tenon.json'],
    ['/a.b/kernels.cpython-311.so', '/a.b/kernels.cpython-311.tenon.json'],
    ['/a/libkernels.1.2.dylib', '/a/libkernels.1.2.tenon.json'],
    ['/a/kernels.dll', '/a/kernels.tenon.json'],
    ['/a/kernels', '/a/kernels.tenon.json'],
    ['/a/.so', '/a/.so.tenon.json'],
  ])('of %s is %s', (library, sidecar) => expect(sidecarPath(library)).toBe(sidecar))

  const plain = 'int f(void *f) { return f != 0; }\nvoid h(void *o) { (void)o; }\nTN_XLA_MARK_HOST(h);'

  test('describes kernels by text and by object', () => {
    const path = compile(plain, 'libkernels.so.1.2')
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex').toUpperCase()
    writeSidecar(path, {
      tenon: 1,
      sha256,
      kernels: {
        f: '(x: f32[n]) -> (y: f32[n])',
        Norm: { signature: '(x: f32) -> (y: f32)', symbol: 'f' },
        h: { signature: '(x: f32) -> (y: f32)', convention: 'host' },
        other: { signature: '() -> (y: f32)', symbol: 'h' },
        negate: { signature: '(x: f32) -> (y: f32)', registered: true, platform: 'CUDA' },
        absent: { signature: '() -> ()', registered: false },
        __proto__: '() -> ()',
      },
    })
    const found = read(path)
    expect(
      found.map(({ signature, symbol, platform }) => [signature.name, signature.convention, symbol, platform]),
    ).toEqual([
      ['Norm', 'typed', 'f', undefined],
      ['absent', 'typed', undefined, undefined],
      ['f', 'typed', 'f', undefined],
      ['h', 'host', 'h', undefined],
      ['negate', 'typed', undefined, 'CUDA'],
      ['other', 'host', 'h', undefined],
    ])
    for (const { signature } of found) expect(signature.source).toBe('sidecar')
  })

  test('a name such as __proto__ is a name', () => {
    const path = compile(plain)
    writeSidecar(path, '{"tenon": 1, "kernels": {"__proto__": "() -> ()", "constructor": "() -> (y: f32)"}}')
    expect(summary(read(path)).slice(0, 2)).toEqual([
      '__proto__ | typed | sidecar | () -> ()',
      'constructor | typed | sidecar | () -> (y: f32)',
    ])
  })

  test('is found beside a link to the library, and may be a link itself', () => {
    const path = compile(plain)
    const moved = join(directory, 'texts.json')
    writeFileSync(moved, JSON.stringify({ tenon: 1, kernels: { f: '() -> (y: f32)' } }))
    symlinkSync(moved, sidecarPath(path))
    mkdirSync(join(directory, 'links'))
    const link = join(directory, 'links', 'libkernels.so')
    symlinkSync(path, link)
    expect(read(path)[0]!.signature.source).toBe('sidecar')
    expect(read(link).map(({ signature }) => signature.name)).toEqual(['h'])
  })

  const kernel = (value: unknown): unknown => ({ tenon: 1, kernels: { f: value } })
  test.each([
    ['{', /it must be JSON in UTF-8/],
    ['', /it must be JSON in UTF-8/],
    ['[]', /the file must be an object, got an array of length 0/],
    ['null', /the file must be an object, got null/],
    [{ tenon: 2, kernels: {} }, /tenon must be 1, the version of the format, got 2/],
    [{ kernels: {} }, /tenon must be 1, the version of the format, got undefined/],
    [{ tenon: 1 }, /kernels must be an object, got undefined/],
    [{ tenon: 1, kernels: [] }, /kernels must be an object, got an array/],
    [{ tenon: 1, kernel: {} }, /the file has the unknown key "kernel"[^]*kernels/],
    [{ tenon: 1, kernels: {}, sha256: 'x' }, /sha256 must be 64 hexadecimal digits, got "x"/],
    [{ tenon: 1, kernels: {}, sha256: 'a'.repeat(64) }, /sha256 must be that of the library, [\da-f]{64}, got a{64}/],
    [kernel(1), /kernels\["f"\] must be an object, got 1/],
    [kernel({}), /kernels\["f"\] must have a signature/],
    [kernel({ signature: '() -> ()', address: '0x10' }), /kernels\["f"\] has the unknown key "address"/],
    [kernel({ signature: '() -> ()', symbl: 'f' }), /the unknown key "symbl"[^]*symbol/],
    [kernel({ signature: '() -> ()', symbol: 3 }), /kernels\["f"\].symbol must be a text, got 3/],
    [kernel({ signature: '() -> ()', registered: 1 }), /registered must be true or false, got 1/],
    [kernel({ signature: '() -> ()', registered: true, symbol: 'f' }), /must have a symbol or be registered, got both/],
    [kernel({ signature: '() -> ()', registered: true, convention: 'host' }), /must be typed for a registered handler/],
    [kernel({ signature: '() -> ()', platform: 'CUDA' }), /platform requires registered: true/],
    [kernel({ signature: '() -> ()', convention: 'cdecl' }), /convention must be one of typed, host, .* got "cdecl"/],
    [
      kernel({ signature: '() -> ()', symbol: 'h', convention: 'typed' }),
      /the convention of "f" must be host, as in the library, got typed/,
    ],
    [{ tenon: 1, kernels: { '': '() -> ()' } }, /the name of a kernel must not be empty/],
    [{ tenon: 1, kernels: { 'a\0': '() -> ()' } }, /the name of a kernel must not be empty or have NUL/],
    [' '.repeat(4 * 1024 * 1024 + 1), /it must have at most 4194304 bytes, got more/],
    [`${'['.repeat(1e6)}`, /it must be JSON in UTF-8/],
  ])('%j is an error that names the file', (content, message) => {
    const path = compile(plain)
    const sidecar = writeSidecar(path, content)
    let thrown: unknown
    try {
      read(path)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(SidecarError)
    expect((thrown as SidecarError).message).toContain(`cannot read ${sidecar}: `)
    expect((thrown as SidecarError).message).toMatch(message)
  })

  test('a directory, a pipe, a circle of links and invalid UTF-8 are errors that name the file', () => {
    const path = compile(plain)
    const sidecar = sidecarPath(path)
    mkdirSync(sidecar)
    expect(() => read(path)).toThrow(`cannot read ${sidecar}: it must be a file, got a directory`)
    rmSync(sidecar, { recursive: true })
    symlinkSync(sidecar, sidecar)
    expect(() => read(path)).toThrow(`cannot read ${sidecar}: ELOOP`)
    rmSync(sidecar)
    writeFileSync(sidecar, Buffer.from('7b22ff227d', 'hex'))
    expect(() => read(path)).toThrow(`cannot read ${sidecar}: it must be JSON in UTF-8`)
    if (!linux) return
    rmSync(sidecar)
    execFileSync('mkfifo', [sidecar])
    expect(() => read(path)).toThrow(`cannot read ${sidecar}: it must be a file, got a special file`)
  })

  test('a link to nowhere is no sidecar', () => {
    const path = compile(plain)
    symlinkSync(join(directory, 'absent'), sidecarPath(path))
    expect(read(path).map(({ signature }) => signature.name)).toEqual(['h'])
  })

  test('a copy of the library without the sidecar has no signatures', () => {
    const path = compile(plain)
    writeSidecar(path, kernel('() -> (y: f32)'))
    const copy = join(directory, 'libcopy.so')
    copyFileSync(path, copy)
    expect(read(copy).map(({ signature }) => signature.source)).toEqual(['none'])
  })
})
