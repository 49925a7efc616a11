import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** DuckDB's C library and its digest, as the registry of npm names it. The package is not a dependency, because it has 70 MB. */
const [NAME, VERSION] = ['@duckdb/node-bindings-linux-x64', '1.5.6-r.1']
const INTEGRITY = 'sha512-IXcrZJE6kEqM0Z4wwdVnGBHX/frOS33VPNAwDXQ/Q+Fs84b058Qe94chrCCIcNJlG8Y3UHIUU4eBeCQxW5mN1Q=='

/**
 * Unpacks DuckDB to `node_modules` of a folder, without its install script. The tarball is kept in a folder of the system.
 *
 * @throws {Error} if npm cannot fetch it, or its digest differs.
 */
export function installDuckdb(directory: string): void {
  const cache = join(tmpdir(), 'tenon-duckdb')
  mkdirSync(cache, { recursive: true })
  const tarball = join(cache, `${VERSION}.tgz`)
  if (!existsSync(tarball)) {
    const fetched = execFileSync('npm', ['pack', `${NAME}@${VERSION}`, '--silent'], { cwd: cache, encoding: 'utf8' })
    renameSync(join(cache, fetched.trim().split('\n').at(-1)!), tarball)
  }
  const digest = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
  if (digest !== INTEGRITY) {
    rmSync(tarball)
    throw new Error(`${NAME} ${VERSION} must have the digest ${INTEGRITY}, got ${digest}`)
  }
  const folder = join(directory, 'node_modules', NAME)
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
}
