import { fileURLToPath } from 'node:url'

/**
 * Loads a Node-API addon of `csrc`, which `tenon-build` has built: the peer that a user would write without Tenon. The type
 * parameter describes its exports.
 *
 * @param name the name of its target: `custom_call_addon`.
 * @throws {Error} if it was not built. `pnpm bench` builds it.
 * @example
 * const addon = loadAddon<{ runHost(): void }>('custom_call_addon')
 * addon.runHost()
 */
export function loadAddon<Exports>(name: string): Exports {
  const module = { exports: {} }
  process.dlopen(module, fileURLToPath(new URL(`../build/release/${name}.node`, import.meta.url)))
  return module.exports as Exports
}
