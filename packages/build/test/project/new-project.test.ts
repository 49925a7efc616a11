import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

import { newProject } from '../../src/project/new-project.ts'

function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-new-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('makes a kernel, its test, its configuration and a package, without the marks of the template', () => {
  const directory = join(emptyDirectory(), 'deep/my-kernels')
  const made = newProject({ name: '@me/my-kernels', tenon: '1.2.3', directory })
  expect(made.directory).toBe(directory)
  expect(made.files).toEqual([
    '.gitignore',
    'README.md',
    'package.json',
    'src/silu.c',
    'tenon.config.ts',
    'test/silu.test.ts',
    'tsconfig.json',
  ])
  const texts = made.files.map((file) => readFileSync(join(directory, file), 'utf8'))
  expect(texts.join('')).not.toMatch(/\{\{|undefined/)
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    name: string
    dependencies: object
  }
  expect(manifest).toMatchObject({ name: '@me/my-kernels', dependencies: { tenon: '^1.2.3' } })
  expect(readFileSync(join(directory, 'tenon.config.ts'), 'utf8')).toContain("name: 'my_kernels'")
  const kernel = readFileSync(join(directory, 'src/silu.c'), 'utf8')
  expect(kernel.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
})

test('the name of the library begins with a letter', () => {
  const directory = emptyDirectory()
  newProject({ name: '3d.kernels', tenon: '1.0.0', directory })
  expect(readFileSync(join(directory, 'tenon.config.ts'), 'utf8')).toContain("name: 'kernels_3d_kernels'")
})

test('a folder with only a repository is used, and one with other files is refused and left as it is', () => {
  const directory = emptyDirectory()
  mkdirSync(join(directory, '.git'))
  newProject({ name: 'a', tenon: '1.0.0', directory })
  writeFileSync(join(directory, 'package.json'), 'mine')
  expect(() => newProject({ name: 'a', tenon: '1.0.0', directory })).toThrow(
    `${directory} must be empty or absent, but contains`,
  )
  expect(readFileSync(join(directory, 'package.json'), 'utf8')).toBe('mine')
  const file = join(directory, 'package.json')
  expect(() => newProject({ name: 'a', tenon: '1.0.0', directory: file })).toThrow(`${file} is a file`)
})

test.for(['', 'Upper', '../up', '@me', '@me/', 'a b', '.hidden', 'a/b', '-a', 'x'.repeat(215)])(
  'the name %j is refused',
  (name) => {
    expect(() => newProject({ name, tenon: '1.0.0', directory: emptyDirectory() })).toThrow(
      'the name must be that of an npm package in lower case',
    )
  },
)
