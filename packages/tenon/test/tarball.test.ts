import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { readTarball, writeTarball, type PackedFile } from '../src/pack/tarball.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-tarball-'))
afterAll(() => rmSync(directory, { recursive: true }))

const files: readonly PackedFile[] = [
  { path: 'package.json', bytes: Buffer.from('{}\n') },
  { path: 'lib/libkernels.so', bytes: Buffer.alloc(1000, 7) },
  { path: 'empty', bytes: Buffer.alloc(0), executable: true },
  { path: `lib/${'d'.repeat(90)}/${'n'.repeat(90)}`, bytes: Buffer.alloc(512, 1) },
]

describe('a tarball', () => {
  test('is what tar unpacks', () => {
    writeFileSync(join(directory, 'x.tgz'), writeTarball(files))
    execFileSync('tar', ['-xzf', 'x.tgz'], { cwd: directory })
    for (const { path, bytes } of files) {
      expect(readFileSync(join(directory, 'package', path)).equals(bytes)).toBe(true)
    }
    const listing = execFileSync('tar', ['-tvzf', 'x.tgz'], { cwd: directory, encoding: 'utf8' })
    expect(listing.match(/^-rw-r--r-- 0\/0 .* 1985-10-26 /gm)).toHaveLength(files.length - 1)
    expect(listing).toMatch(/^-rwxr-xr-x 0\/0 .* package\/empty$/m)
  })

  test('has the same bytes whenever it is written', () => {
    expect(writeTarball(files).equals(writeTarball(files))).toBe(true)
  })

  test('is read again as the files that were written', () => {
    const file = fc.record({
      path: fc.stringMatching(/^[a-z][\w-]{0,20}(?:\/[a-z][\w-]{0,40}){0,4}$/),
      bytes: fc.uint8Array({ maxLength: 1500 }).map((bytes) => Buffer.from(bytes)),
      executable: fc.boolean(),
    })
    const given = fc.uniqueArray(file, { maxLength: 5, selector: ({ path }) => path })
    fc.assert(
      fc.property(given, (written) => {
        expect(readTarball('x.tgz', writeTarball(written))).toEqual(written)
      }),
    )
  })

  test('that is damaged is refused with its name, and never read as other files', () => {
    const original = gunzipSync(writeTarball(files))
    fc.assert(
      fc.property(fc.nat(original.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const bytes = Buffer.from(original)
        bytes[at]! ^= bits
        let read: readonly PackedFile[] = []
        try {
          read = readTarball('x.tgz', gzipSync(bytes))
        } catch (error) {
          expect((error as Error).message).toContain('x.tgz')
        }
        const known = new Set(files.map(({ path }) => path))
        expect(read.filter(({ path }) => !known.has(path))).toEqual([])
      }),
    )
    expect(() => readTarball('x.tgz', Buffer.from('text'))).toThrow('x.tgz is not the tarball of a package')
    expect(() => readTarball('x.tgz', gzipSync(original.subarray(0, 513)))).toThrow('no end of package/package.json')
  })

  test('with a link or a path outside of the package is refused', () => {
    for (const path of ['../x', 'a/../../x', '/etc/x']) {
      expect(() => readTarball('x.tgz', writeTarball([{ path, bytes: Buffer.alloc(0) }]))).toThrow('not a regular file')
    }
    execFileSync('ln', ['-s', '/etc/passwd', join(directory, 'package/link')])
    execFileSync('tar', ['-czf', 'link.tgz', 'package/link'], { cwd: directory })
    expect(() => readTarball('link.tgz', readFileSync(join(directory, 'link.tgz')))).toThrow(
      'link.tgz contains package/link, which is not a regular file',
    )
  })
})
