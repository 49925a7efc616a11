import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageFlags } from '@tenon/config/package-flags'
import { afterAll, describe, expect, test } from 'vitest'
import { coreFunctions, coreLibrary } from '../src/native/core-library.ts'
import { runScript } from '../src/testing.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-probes-'))
afterAll(() => rmSync(directory, { recursive: true }))

const folder = join(import.meta.dirname, '..')
const cc = process.env['CC'] ?? 'cc'

/** Compiles the file of the probes, and returns its probes as `readelf` prints them. */
function probesOf(path: string): string[] {
  const text = execFileSync('readelf', ['--notes', path], { encoding: 'utf8' })
  return Array.from(
    text.matchAll(/Provider: (\S+)\s+Name: (\S+)/g),
    ([, provider, name]) => `${provider}:${name}`,
  ).toSorted()
}

function compile(name: string, ...flags: string[]): string {
  const output = join(directory, name)
  const include = ['-I', join(folder, 'csrc/include')]
  execFileSync(cc, ['-std=gnu11', '-c', ...include, ...flags, '-o', output, join(folder, 'csrc/base/probes.c')])
  return output
}

const BOTH = ['tenon:call__begin', 'tenon:call__end']

if (process.platform === 'linux') {
  describe('the probes of calls', () => {
    test('are notes of the core if it was compiled with sys/sdt.h', () => {
      const expected = coreFunctions().tn_probes_exist() === 1 ? BOTH : []
      expect(probesOf(coreLibrary().path)).toEqual(expected)
    })

    test('are made if sys/sdt.h exists, and left out otherwise', () => {
      // The least that the header does: a note for each probe.
      mkdirSync(join(directory, 'sys'))
      const note = String.raw`#define NOTE(name) __asm__(".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8,2f-1f,3\n.asciz \"stapsdt\"\n1: .8byte 0,0,0\n.asciz \"tenon\"\n.asciz \"" #name "\"\n.asciz \"\"\n2: .balign 4\n.popsection")`
      const probe = (count: number, names: string): string =>
        `#define DTRACE_PROBE${count}(provider, name, ${names}) NOTE(name); (void)(a)`
      writeFileSync(
        join(directory, 'sys/sdt.h'),
        [note, probe(3, 'a, b, c'), probe(6, 'a, b, c, d, e, f'), ''].join('\n'),
      )
      expect(probesOf(compile('with.o', '-I', directory))).toEqual(BOTH)
      const own = execFileSync(cc, ['-print-file-name=include'], { encoding: 'utf8' }).trim()
      const without = compile('without.o', '-ffreestanding', '-nostdinc', '-isystem', own)
      expect(probesOf(without)).toEqual([])
      const symbols = execFileSync('nm', [without], { encoding: 'utf8' })
      for (const name of ['tn_probes_exist', 'tn_probe_begin', 'tn_probe_end']) expect(symbols).toContain(` T ${name}`)
    })

    test('are passed by calls of a process with TENON_PROBES=1, and a core without them is one warning', async () => {
      const script = `
        import { NativeLibrary } from '@tenon/core'
        const abs = NativeLibrary.open('libc.so.6').function('abs', { result: 'int32', parameters: ['int32'] })
        console.log([abs(-3), await abs.async(-4), abs(-5)].join(' '))`
      const { code, stdout, stderr } = await runScript(script, {
        cwd: folder,
        nodeOptions: packageFlags,
        env: { TENON_PROBES: '1' },
      })
      expect([code, stdout.trim()]).toEqual([0, '3 4 5'])
      const warnings = stderr.split('TENON_PROBES has no effect').length - 1
      expect(warnings).toBe(coreFunctions().tn_probes_exist() === 1 ? 0 : 1)
    })
  })
}
