import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Loads a package as the project in the working directory finds it, or else as `tenon` finds it. `tenon` does not depend on it, so that
 * only users of its command install it.
 *
 * @returns its exports, or undefined if it is not installed
 */
export async function loadPeer(name: string): Promise<unknown> {
  const path = findInProject(name) ?? find(name, import.meta.url)
  return path === undefined ? undefined : import(pathToFileURL(path).href)
}

/** The path of a package as the project in the working directory finds it, or undefined if it is not installed there. */
export const findInProject = (name: string): string | undefined => find(name, join(process.cwd(), 'package.json'))

function find(name: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(name)
  } catch {
    return undefined
  }
}
