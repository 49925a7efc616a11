import { packageFlags } from '@tenon/config/package-flags'
import { ArgumentError, ArgumentRangeError, LoadError, NativeError, ReadOnlyError, ScopeClosedError } from '@tenon/core'
import { runtime } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { MemorySegment, ResourceScope } from '../src/index.ts'
import { packageDirectory } from './support/worker.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-mapped-'))
afterAll(() => rmSync(directory, { recursive: true }))
let files = 0
function file(contents: string | Uint8Array): string {
  const path = join(directory, `${files++}`)
  writeFileSync(path, contents)
  return path
}

if (process.platform !== 'win32')
  describe('mapped files', () => {
    test('are read-only by default', () => {
      using scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(file('hello world'), scope)
      expect([segment.byteSize, segment.readOnly, segment.isMapped, segment.scope]).toEqual([11, true, true, scope])
      expect(segment.getString(0, 'utf-8', 11)).toBe('hello world')
      expect(() => segment.setUint8(0, 1)).toThrow(ReadOnlyError)
      expect(() => segment.fill(0)).toThrow(ReadOnlyError)
    })

    test('are written back with access write', () => {
      const path = file('hello world')
      ResourceScope.ofConfined().run((scope) => {
        const segment = MemorySegment.mapFile(path, scope, { access: 'write' })
        segment.setUint8(0, 0x48)
        segment.force()
        expect(readFileSync(path, 'utf8')).toBe('Hello world')
      })
      using scope = ResourceScope.ofConfined()
      expect(MemorySegment.mapFile(path, scope).getUint8(0)).toBe(0x48)
    })

    test('are created and grown with access write', () => {
      using scope = ResourceScope.ofConfined()
      const path = join(directory, 'new')
      MemorySegment.mapFile(path, scope, { access: 'write', byteSize: 10_000 }).setUint8(9_999, 1)
      expect(readFileSync(path)[9_999]).toBe(1)
    })

    test('stay unchanged with access copy', () => {
      using scope = ResourceScope.ofConfined()
      const path = file('hello')
      const segment = MemorySegment.mapFile(path, scope, { access: 'copy' })
      segment.setUint8(0, 0x48)
      expect([segment.getString(0, 'utf-8', 5), readFileSync(path, 'utf8')]).toEqual(['Hello', 'hello'])
      expect(() => segment.unload()).toThrow(/lose its changes/)
    })

    test('can start at any offset', () => {
      using scope = ResourceScope.ofConfined()
      const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => (i * 7) & 0xff)
      const path = file(bytes)
      for (const byteOffset of [0, 1, 7, 4095, 4096, 4097, 19_999]) {
        const segment = MemorySegment.mapFile(path, scope, { byteOffset })
        expect(segment.byteSize).toBe(20_000 - byteOffset)
        expect(segment.mismatch(MemorySegment.ofBuffer(bytes.subarray(byteOffset)))).toBe(-1)
        const part = MemorySegment.mapFile(path, scope, { byteOffset, byteSize: 1 })
        expect([part.byteSize, part.getUint8(0)]).toEqual([1, bytes[byteOffset]])
      }
    })

    test('may have 0 bytes', () => {
      using scope = ResourceScope.ofConfined()
      for (const options of [{}, { access: 'write' }, { byteSize: 0 }] as const) {
        const segment = MemorySegment.mapFile(file(''), scope, options)
        segment.load()
        segment.force()
        segment.unload()
        expect([segment.isLoaded(), segment.byteSize, segment.isMapped]).toEqual([true, 0, true])
      }
    })

    test('can be loaded and unloaded', () => {
      using scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(file(new Uint8Array(100_000).fill(3)), scope)
      segment.load()
      expect(segment.isLoaded()).toBe(true)
      segment.unload()
      expect(segment.getUint8(50_000)).toBe(3)
      segment.asSlice(5000, 10_000).load()
      expect(segment.asSlice(5000, 10_000).isLoaded()).toBe(true)
    })

    test('other memory cannot be loaded, unloaded or forced', () => {
      const segment = MemorySegment.allocateNative(8)
      expect(segment.isMapped).toBe(false)
      for (const use of ['load', 'unload', 'force', 'isLoaded'] as const)
        expect(() => segment[use]()).toThrow(ArgumentError)
    })

    test('can be forced by a close action', () => {
      const scope = ResourceScope.ofConfined()
      const path = file('hello')
      const segment = MemorySegment.mapFile(path, scope, { access: 'write' })
      scope.addCloseAction(() => segment.force())
      segment.setUint8(0, 0x48)
      scope.close()
      expect(readFileSync(path, 'utf8')).toBe('Hello')
    })

    test('are inaccessible after close, also through raw views', () => {
      const scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(file('hello'), scope, { access: 'write' })
      const view = segment.view()
      scope.close()
      for (const use of ['load', 'unload', 'force', 'isLoaded'] as const)
        expect(() => segment[use]()).toThrow(ScopeClosedError)
      expect(() => segment.getUint8(0)).toThrow(ScopeClosedError)
      expect(() => view.getUint8(0)).toThrow(TypeError)
    })

    test('release their scope when an operation fails', () => {
      const scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(file('hello'), scope, { access: 'copy' })
      expect(() => segment.unload()).toThrow(NativeError)
      scope.close()
    })

    test('stay mapped if the buffer of a raw view was transferred away', () => {
      const scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(file('hello'), scope, { access: 'copy' })
      const taken = new Uint8Array((segment.view().buffer as ArrayBuffer).transfer())
      scope.close()
      expect(Buffer.from(taken.buffer, 0, 5).toString()).toBe('hello')
    })

    test('read as zeros where the file was truncated', () => {
      using scope = ResourceScope.ofConfined()
      const path = file(new Uint8Array(3 * 4096).fill(7))
      const segment = MemorySegment.mapFile(path, scope)
      truncateSync(path, 4096)
      expect([segment.getUint8(0), segment.getUint8(2 * 4096)]).toEqual([7, 0])
    })

    test('report writes that did not reach the file, each time in force(), and else when the scope is closed', () => {
      for (const [byteOffset, byteSize] of [0, 4096].flatMap((at) => [8192, 8092].map((size) => [at, size] as const))) {
        const path = file(new Uint8Array(4 * 4096))
        const scope = ResourceScope.ofConfined()
        const segment = MemorySegment.mapFile(path, scope, { access: 'write', byteOffset })
        segment.setUint8(0, 1)
        segment.force()
        truncateSync(path, byteSize)
        segment.fill(7)
        expect(segment.getUint8(segment.byteSize - 1)).toBe(7)
        const lost = `from byte ${byteSize} on were lost, because pages of the file are missing\n`
        expect(() => segment.force()).toThrow(lost)
        segment.setUint8(segment.byteSize - 1, 8)
        expect(() => segment.force()).toThrow(lost)
        expect(() => segment.unload()).toThrow(lost)
        scope.close()
      }
      const path = file(new Uint8Array(2 * 4096))
      const scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(path, scope, { access: 'write' })
      truncateSync(path, 0)
      segment.fill(7)
      expect(() => scope.close()).toThrow(NativeError)
      expect(() => segment.getUint8(0)).toThrow(ScopeClosedError)
    })

    test('show the pages of a file that grows again, other than those that were accessed while they were missing', () => {
      const path = file(new Uint8Array(5 * 4096).fill(7))
      using scope = ResourceScope.ofConfined()
      const segment = MemorySegment.mapFile(path, scope, { access: 'write' })
      truncateSync(path, 4096)
      expect(segment.getUint8(2 * 4096)).toBe(0)
      const descriptor = openSync(path, 'r+')
      writeSync(descriptor, new Uint8Array(5 * 4096).fill(9))
      closeSync(descriptor)
      expect([0, 1, 2, 3, 4].map((page) => segment.getUint8(page * 4096))).toEqual([9, 9, 0, 9, 9])
      segment.setUint8(3 * 4096, 10)
      segment.force()
      expect(readFileSync(path)[3 * 4096]).toBe(10)
      segment.setUint8(2 * 4096 + 5, 1)
      expect(() => segment.force()).toThrow(`from byte ${2 * 4096 + 5} on were lost`)
      scope.close()
    })

    if (spawnSync('unshare', ['-rm', 'true']).status === 0)
      test('lose the pages that have no room on a full file system, and keep the others', () => {
        const script = `
          import { execFileSync } from 'node:child_process'
          import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
          import { MemorySegment, ResourceScope } from '@tenon/scope'
          const directory = process.env.DIRECTORY, page = 4096
          execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tenon', directory])
          const path = directory + '/sparse'
          const isPresent = (i) => i % 3 === 2 && i < 30
          writeFileSync(path, '')
          truncateSync(path, 64 * page)
          const descriptor = openSync(path, 'r+')
          for (let i = 0; i < 64; i++) if (isPresent(i)) writeSync(descriptor, new Uint8Array(page).fill(9), 0, page, i * page)
          closeSync(descriptor)
          try {
            for (;;) writeFileSync(directory + '/filler', new Uint8Array(page), { flag: 'a' })
          } catch (error) {
            console.log(error.code)
          }
          const scope = ResourceScope.ofConfined()
          const segment = MemorySegment.mapFile(path, scope, { access: 'write' })
          console.log(segment.getUint8(0))
          segment.setUint8(page + 3, 5)
          console.log(segment.getUint8(page + 3))
          for (let i = 0; i < 64; i++) if (segment.getUint8(i * page) !== (isPresent(i) ? 9 : 0)) console.log('wrong', i)
          segment.setUint8(2 * page, 10)
          console.log(readFileSync(path)[2 * page])
          for (const use of [() => segment.force(), () => segment.force(), () => scope.close()])
            try {
              use()
              console.log('ends')
            } catch (error) {
              console.log(error.details.byteOffset)
            }
        `
        const mounted = mkdtempSync(join(directory, 'mounted-'))
        const flags = runtime.moduleArguments([...packageFlags, '--no-warnings'], script)
        const { stdout, stderr } = spawnSync('unshare', ['-rm', process.execPath, ...flags], {
          cwd: packageDirectory,
          env: { ...process.env, DIRECTORY: mounted },
          encoding: 'utf8',
        })
        expect({ stderr, lines: stdout.trim().split('\n') }).toEqual({
          stderr: '',
          lines: ['ENOSPC', '0', '5', '10', '4099', '4099', 'ends'],
        })
      })

    if (process.platform === 'linux')
      test('that grow reserve their room, and are not changed if there is none', () => {
        const { bsize, blocks } = statfsSync('/dev/shm')
        const path = `/dev/shm/tenon-mapped-${process.pid}`
        writeFileSync(path, 'hello')
        try {
          using scope = ResourceScope.ofConfined()
          const grow = (byteSize: number): MemorySegment =>
            MemorySegment.mapFile(path, scope, { access: 'write', byteSize })
          expect(() => grow(bsize * blocks + 2 ** 20)).toThrow(/could not be grown to .* No space left on device\n/)
          expect(readFileSync(path, 'utf8')).toBe('hello')
          grow(2 ** 20)
          expect(statSync(path)).toMatchObject({ size: 2 ** 20, blocks: 2 ** 20 / 512 })
        } finally {
          rmSync(path)
        }
      })

    test('can be larger than 2 GiB', () => {
      using scope = ResourceScope.ofConfined()
      const path = file('')
      truncateSync(path, 3 * 2 ** 30)
      const segment = MemorySegment.mapFile(path, scope, { access: 'write' })
      const last = 3 * 2 ** 30 - 8
      segment.setInt64(last, 42n)
      expect([segment.getInt64(last), segment.asSlice(last).getInt64(0)]).toEqual([42n, 42n])
      segment.asSlice(last).force()
      rmSync(path)
    })

    test('more than 1024 can be mapped in one turn of the event loop', () => {
      const path = file('hello')
      using scope = ResourceScope.ofConfined()
      let last: MemorySegment | undefined
      for (const owner of [ResourceScope.ofImplicit(), scope]) {
        for (let i = 0; i < 2500; i++) {
          last = MemorySegment.mapFile(path, owner)
        }
        expect(last?.getString(0, 'utf-8', 5)).toBe('hello')
      }
    })

    test('are refused at once if the path is a pipe, a directory or a device', async () => {
      const script = `
        import { execFileSync } from 'node:child_process'
        import { MemorySegment, ResourceScope } from '@tenon/scope'
        const pipe = ${JSON.stringify(join(directory, 'pipe'))}
        execFileSync('mkfifo', [pipe])
        const scope = ResourceScope.ofConfined()
        for (const path of [pipe, ${JSON.stringify(directory)}, '/dev/null'])
          for (const access of ['read', 'write', 'copy'])
            try { MemorySegment.mapFile(path, scope, { access }) } catch (error) { console.log(error.code, error.details.received) }
      `
      const nodeOptions = [...packageFlags, '--no-warnings']
      const { stdout, stderr, timedOut } = await runScript(script, {
        cwd: packageDirectory,
        nodeOptions,
        timeout: 20_000,
      })
      expect({ timedOut, stderr, lines: stdout.trim().split('\n') }).toEqual({
        timedOut: false,
        stderr: '',
        lines: [
          ...Array<string>(3).fill('TENON_LOAD a pipe'),
          'TENON_LOAD a directory',
          'TENON_LOAD undefined',
          'TENON_LOAD a directory',
          ...Array<string>(3).fill('TENON_LOAD a device'),
        ],
      })
    })

    test('are refused if they cannot be mapped', () => {
      using scope = ResourceScope.ofConfined()
      const path = file('hello')
      expect(() => MemorySegment.mapFile(join(directory, 'none'), scope)).toThrow(LoadError)
      expect(() => MemorySegment.mapFile(join(directory, 'none'), scope, { access: 'write' })).toThrow(LoadError)
      expect(existsSync(join(directory, 'none'))).toBe(false)
      expect(() => MemorySegment.mapFile(directory, scope)).toThrow(LoadError)
      expect(() => MemorySegment.mapFile(path, scope, { byteSize: 6 })).toThrow(RangeError)
      for (const access of ['read', 'write', 'copy'] as const)
        expect(() => MemorySegment.mapFile(path, scope, { access, byteOffset: 6 })).toThrow(RangeError)
      const grow = { access: 'write', byteSize: 2 ** 53 - 1 } as const
      expect(() => MemorySegment.mapFile(path, scope, grow)).toThrow(NativeError)
      expect(() => MemorySegment.mapFile(path, scope, { ...grow, byteOffset: 1 })).toThrow(ArgumentRangeError)
      expect(() => MemorySegment.mapFile(path, scope, { access: 'both' as never })).toThrow(ArgumentError)
      for (const number of [-1, 0.5, Number.NaN, 2 ** 53, null, '1']) {
        expect(() => MemorySegment.mapFile(path, scope, { byteOffset: number as number })).toThrow(ArgumentError)
        expect(() => MemorySegment.mapFile(path, scope, { byteSize: number as number })).toThrow(ArgumentError)
      }
      for (const name of [null, undefined, '', 1])
        expect(() => MemorySegment.mapFile(name as string, scope)).toThrow(ArgumentError)
      for (const owner of [null, {}]) expect(() => MemorySegment.mapFile(path, owner as never)).toThrow(ArgumentError)
      expect(ResourceScope.stats().liveBytes).toBe(0)
    })
  })
