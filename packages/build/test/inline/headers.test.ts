import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { expect, onTestFinished, test } from 'vitest'

import { compileSync } from '../../src/index.ts'
import { findHeaders, hashHeaderFiles } from '../../src/inline/headers.ts'
import { makeProject, scaleKernel } from '../project/make-project.ts'
import { headers, temporary } from './inline.ts'

const slow = { timeout: 60_000 }

test('the headers of the project in the working directory are found', slow, () => {
  const before = process.cwd()
  onTestFinished(() => process.chdir(before))
  process.chdir(makeProject({}).directory)
  expect(fs.realpathSync(findHeaders()!)).toBe(headers)
  expect(compileSync(scaleKernel(2), { cacheDirectory: temporary('cache') }).cached).toBe(false)
})

test('an error of a source that needs headers says to install Tenon where it is missing', slow, () => {
  const index = JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href)
  const source = `
    import { compileSync } from ${index}
    try { compileSync('#include <tenon/kernel.h>', { cacheDirectory: 'cache', compiler: 'gcc' }) }
    catch (error) { console.log(error.name, error.sentence.split('\\n')[0], error.hint) }
  `
  const cwd = temporary('empty')
  fs.mkdirSync(cwd)
  // The command of the tests finds all packages through NODE_PATH.
  const env = { ...process.env, NODE_PATH: '' }
  const flags = ['--conditions=@tenon/source', '--input-type=module', '--eval', source]
  const { stdout, stderr } = spawnSync(process.execPath, flags, { cwd, env, encoding: 'utf8' })
  expect(stderr.replaceAll(/^.*(?:Type Stripping|trace-warnings).*\n/gm, '')).toBe('')
  expect(stdout).toBe(
    'CompileError inline.c:1:10: tenon/kernel.h: No such file or directory ' +
      'Install Tenon, which has these headers: npm install tenon\n',
  )
})

test('the digest has the path and the contents of each header', () => {
  const directory = temporary('include')
  fs.mkdirSync(join(directory, 'deep'), { recursive: true })
  const digests = [hashHeaderFiles([directory])]
  const change = (name: string, text: string): void => {
    fs.writeFileSync(join(directory, name), text)
    digests.push(hashHeaderFiles([directory]))
  }
  change('a.h', '1')
  change('a.h', '22')
  change('deep/a.hpp', '22')
  change('vector', 'no extension')
  fs.rmSync(join(directory, 'a.h'))
  digests.push(hashHeaderFiles([directory]))
  expect(new Set(digests).size).toBe(digests.length)
  change('notes.md', 'not a header')
  expect(digests.at(-1)).toBe(digests.at(-2))
  fs.symlinkSync('nowhere.h', join(directory, 'broken.h'))
  expect(hashHeaderFiles([directory, directory])).toBe(hashHeaderFiles([directory]))
  expect(hashHeaderFiles(['/no/such/directory'])).toBe(hashHeaderFiles([]))
})
