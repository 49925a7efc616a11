import { readFileSync } from 'node:fs'

/** Returns the versions of Tenon, of koffi, and of Node.js and its parts that run the harness. */
export function versions(): Record<string, string> {
  const { node, v8, uv } = process.versions
  return { tenon: versionIn('tenon'), koffi: versionIn('core/node_modules/koffi'), node, v8, uv }
}

function versionIn(directory: string): string {
  const file = new URL(`../../../packages/${directory}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
