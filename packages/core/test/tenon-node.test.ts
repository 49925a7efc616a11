import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { readBinary } from '@tenon/binary'
import { expect, test } from 'vitest'

const variant = process.env['TENON_VARIANT'] || 'release'
const directory = join(import.meta.dirname, '../build', variant)
const addon = join(directory, 'tenon.node')

/** The functions of each version of Node-API. */
const { symbols } = createRequire(import.meta.url)('node-api-headers') as {
  symbols: Record<'v8', Record<'js_native_api_symbols' | 'node_api_symbols', readonly string[]>>
}

test('tenon.node is loaded by this version of Node.js', () => {
  const module: { exports: Record<string, unknown> } = { exports: {} }
  process.dlopen(module, addon)
  for (const name of ['caller', 'address', 'text', 'buffer', 'watch', 'open', 'enter', 'entry', 'keepAlive'])
    expect(module.exports[name]).toBeTypeOf('function')
})

// A build for a sanitizer also uses the functions of the sanitizer.
if (process.platform === 'linux' && variant === 'release') {
  test('tenon.node imports only functions of Node-API 8, of libtenon and of the C library', () => {
    const { imports, needed, runpath, rpath } = readBinary(addon)
    const nodeApi = new Set(Object.values(symbols.v8).flat())
    const foreign = imports.filter(({ name, weak, version }) => {
      return !weak && !nodeApi.has(name) && !name.startsWith('tn_') && !version?.startsWith('GLIBC_')
    })
    expect(foreign).toEqual([])
    expect(imports.map(({ name }) => name)).toContain('tn_environment_open')
    expect(needed.filter((name) => !/^(libc|ld-linux)[-.]/.test(name))).toEqual(['libtenon.so'])
    expect([...runpath, ...rpath]).toEqual(['$ORIGIN'])
  })

  test('no library of the core has a symbol of Node-API', () => {
    for (const name of ['tenon', 'tenon_guard', 'tenon_nnapi', 'tenon_packed', 'tvm_ffi', 'tvm_runtime']) {
      const { imports, exports } = readBinary(join(directory, `lib${name}.so`))
      expect([...imports, ...exports].filter((symbol) => /^(napi|node_api)_/.test(symbol.name))).toEqual([])
    }
  })

  test('the libraries of the core have tables to unwind every instruction, and a stack without execution', () => {
    for (const name of ['libtenon.so', 'tenon.node']) {
      const file = readFileSync(join(directory, name))
      expect(segmentFlags(file, 0x6474e550)).toBe(4) // PT_GNU_EH_FRAME: read only
      expect(segmentFlags(file, 0x6474e551)).toBe(6) // PT_GNU_STACK: read and write
    }
  })
}

/** Returns p_flags of the first ELF segment of a type. */
function segmentFlags(file: Buffer, type: number): number | undefined {
  const [table, entrySize, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)]
  const entries = Array.from({ length: count }, (_, index) => table + index * entrySize)
  const segment = entries.find((entry) => file.readUInt32LE(entry) === type)
  return segment === undefined ? undefined : file.readUInt32LE(segment + 4)
}
