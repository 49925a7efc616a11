import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installDuckdb } from './install-duckdb.ts'

const page = readFileSync(new URL('../../../docs/cookbook/arrow-duckdb.md', import.meta.url), 'utf8')

/** Makes a project of a reader in a new folder: the files of the page, its compiled kernel, Tenon and DuckDB. */
export function makeProject(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-arrow-'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  installDuckdb(directory)
  for (const name of ['tenon', 'apache-arrow'])
    symlinkSync(fileURLToPath(new URL(folders[name]!, import.meta.url)), join(directory, 'node_modules', name))
  for (const [, name, text] of page.matchAll(/^```(?:ts|c) file=(\S+)\n([^]*?)^```$/gm))
    writeFileSync(join(directory, name!), text!)
  for (const [, command] of page.matchAll(/^```sh\n([^]*?)^```$/gm))
    execFileSync('sh', ['-c', command!], { cwd: directory })
  return directory
}

const folders: Readonly<Record<string, string>> = {
  tenon: '../../tenon',
  'apache-arrow': '../node_modules/apache-arrow',
}
