import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'

/** The path of a built xgrammar library. Without it, only the command line is tested. */
const library = process.env['TENON_XGRAMMAR_LIBRARY']

function run(program: string, ...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const file = fileURLToPath(new URL(`../src/${program}`, import.meta.url))
  const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@tenon/source', '--expose-gc']
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, file, ...args], { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

describe('the programs', () => {
  test.each(['main.ts', 'soak.ts'])('%s needs the path of a library', (program) => {
    expect(run(program)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('libxgrammar_bindings.so') as string,
    })
    expect(run(program, './absent.so').stderr).toContain('LoadError: the library ./absent.so does not exist')
    const other = run(program, kernelLibrary('packed_objects'))
    expect(other.stderr).toContain("ValueError: no type is registered as 'xgrammar.tvm_ffi_binding.Name'")
  })
})

if (library !== undefined)
  describe('an xgrammar library', () => {
    test('passes all cases', () => {
      expect(run('main.ts', library)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('14 of 14 cases') as string,
      })
    })

    test('keeps no memory of 10,000 matchers', () => {
      expect(run('soak.ts', library)).toMatchObject({ code: 0 })
    }, 600_000)
  })
