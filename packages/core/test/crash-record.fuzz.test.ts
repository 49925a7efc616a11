import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import fc from 'fast-check'
import { readCrash, readModules, type CodeModule } from '../src/crash/crash-record.ts'
import { locateFrames } from '../src/crash/native-frames.ts'
import { CONSTANTS, LAYOUTS } from '../src/generated/layouts.ts'

const { size: MODULE_SIZE, offsets: MODULE } = LAYOUTS.tn_module_t

/** A list with one module, as a process writes it. */
function listOf(path: string, change: (view: DataView) => void = () => {}): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(path)
  const size = Math.ceil((MODULE_SIZE + text.length) / 8) * 8
  const bytes = new Uint8Array(size + MODULE_SIZE)
  const view = new DataView(bytes.buffer)
  view.setUint32(MODULE.size, size, true)
  view.setUint32(MODULE.path_length, text.length, true)
  view.setBigUint64(MODULE.start, 0x1000n, true)
  view.setBigUint64(MODULE.end, 0x2000n, true)
  bytes.set(text, MODULE_SIZE)
  change(view)
  return bytes
}

test('a list of modules is read up to its last entry', () => {
  expect(readModules(listOf('/lib/a.so'))).toMatchObject([
    { path: '/lib/a.so', start: 0x1000n, end: 0x2000n, buildId: '' },
  ])
  expect(readModules(listOf('a.so'))).toEqual([])
  expect(readModules(new Uint8Array(0))).toEqual([])
  expect(readModules(listOf('/lib/a.so', (view) => view.setUint32(MODULE.size, 8, true)))).toEqual([])
  expect(readModules(listOf('/lib/a.so', (view) => view.setUint32(MODULE.path_length, 60_000, true)))).toEqual([])
  expect(readModules(listOf('/lib/a.so', (view) => view.setUint32(MODULE.build_id_size, 200, true)))).toEqual([])
  expect(readModules(listOf('/lib/a.so', (view) => view.setBigUint64(MODULE.end, 0n, true)))).toEqual([])
})

test('1000 random records and lists are read without an error, with bounded counts', () => {
  const words = fc.uint8Array({ minLength: LAYOUTS.tn_crash_t.size, maxLength: LAYOUTS.tn_crash_t.size })
  fc.assert(
    fc.property(words, fc.uint8Array({ maxLength: 4096 }), fc.string(), (record, list, path) => {
      const { frames, exception } = readCrash(new DataView(Uint8Array.from(record).buffer), 0)
      expect(frames.length).toBeLessThanOrEqual(CONSTANTS.TN_CRASH_FRAMES)
      expect(exception).toMatch(/^[\w.$]{0,128}$/)
      const modules = [...readModules(Uint8Array.from(list)), ...readModules(listOf(`/nowhere/${path}`))]
      expect(modules.length).toBeLessThan(64)
      expect(locateFrames(frames.slice(0, 2), modules, { timeout: 100 }).length).toBeLessThanOrEqual(2)
    }),
    { numRuns: 1000 },
  )
})

const moduleOf = (path: string, buildId = ''): CodeModule => ({
  path,
  bias: 0n,
  start: 0n,
  end: 1n << 40n,
  buildId,
  identity: '',
})

// The names of pipes and devices of POSIX.
if (process.platform === 'linux')
  test('pipes, devices, descriptors of this process and files that are no libraries give no names, and no descriptor stays open', () => {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-modules-'))
    try {
      const pipe = join(directory, 'pipe')
      execFileSync('mkfifo', [pipe])
      const text = join(directory, 'text')
      writeFileSync(text, 'not a library')
      symlinkSync(pipe, join(directory, 'link'))
      const before = readdirSync('/proc/self/fd').length
      for (const path of [
        pipe,
        text,
        join(directory, 'link'),
        directory,
        '/dev/zero',
        '/dev/stdin',
        '/proc/self/exe',
        '/proc/self/fd/0',
      ])
        for (const buildId of ['', '00112233445566778899aabbccddeeff00112233']) {
          const frames = locateFrames([{ pc: 0x1000n, isExact: true }], [moduleOf(path, buildId)])
          expect(frames).toEqual([expect.not.objectContaining({ function: expect.anything() })])
        }
      expect(readdirSync('/proc/self/fd').length).toBe(before)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
