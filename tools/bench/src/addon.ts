import { fileURLToPath } from 'node:url'

/**
 * Loads one of the hand-written Node-API addons of `csrc`, as `native-build` left it: the peer that a user would write
 * without Tenon. What it exports is up to its C file; the caller says so by the type.
 *
 * @param name that of its target: `custom_call_addon`.
 * @throws {Error} if it was not built: `pnpm bench` does.
 * @example
 * const addon = loadAddon<{ runHost(): void }>('custom_call_addon')
 * addon.runHost()
 */
export function loadAddon<Exports>(name: string): Exports {
  const module = { exports: {} }
  process.dlopen(module, fileURLToPath(new URL(`../build/release/${fileName(name)}`, import.meta.url)))
  return module.exports as Exports
}

function fileName(name: string): string {
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}
