import { coreLibrary } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-two-cores-')))
afterAll(() => rmSync(directory, { recursive: true }))

/** Installs the built files of a package below a folder of modules, as a package manager does. */
function install(name: string, modules: string): string {
  const target = join(modules, '@tenon', name)
  mkdirSync(target, { recursive: true })
  for (const part of ['dist', 'package.json'])
    cpSync(fileURLToPath(new URL(`../../${name}/${part}`, import.meta.url)), join(target, part), { recursive: true })
  return target
}

test('a scope of another copy of core is refused, and the error names both copies', { timeout: 90_000 }, async () => {
  const modules = join(directory, 'node_modules')
  // Deno looks for packages where one is.
  writeFileSync(join(directory, 'package.json'), '{}')
  for (const name of ['core', 'binary', 'tstring']) install(name, modules)
  install('core', join(install('scope', modules), 'node_modules'))
  const script = `
    import { gcAllocator } from '@tenon/core'
    import { MemorySegment, NativeScope } from '@tenon/scope'
    import { StringTensor } from '@tenon/tstring'
    const scope = NativeScope.ofConfined()
    for (const use of [
      () => StringTensor.from(['a', 'b'.repeat(50)], { allocator: scope }),
      () => StringTensor.ofSegment(scope.allocate(24), { layout: 'tf' }),
      () => MemorySegment.ofSegment(gcAllocator.allocate(8)),
      () => NativeScope.ofConfined().allocate(8).copyFrom(gcAllocator.allocate(8)),
    ]) {
      try { use(); console.log('accepted') } catch (error) { console.log(JSON.stringify([error.code, error.message])) }
    }`
  const { stdout, stderr } = await runScript(script, {
    cwd: directory,
    // The installation has no koffi.
    env: { TENON_CORE_LIBRARY: coreLibrary().path, TENON_DRIVER: '' },
    timeout: 60_000,
  })
  const lines = stdout.trim().split('\n')
  expect(lines, stderr).toHaveLength(4)
  for (const line of lines) {
    expect(line).toMatch(/of another copy of @tenon\/core, .*node_modules.*, while this one is .*node_modules/)
    expect(line).toMatch(/npm ls @tenon\/core/)
  }
})
