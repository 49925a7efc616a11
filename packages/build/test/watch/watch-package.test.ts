import { readBinary, readTextConstants } from '@tenon/binary'
import { existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'

import { configText, makeProject, type ProjectFolder, scaleKernel } from '../project/make-project.ts'
import { type WatchedBuild, watchPackage } from '../../src/watch/watch-package.ts'

const config = configText({ libraries: [{ name: 'scales', sources: ['src/*.c'] }] })

/** A watcher and what it has reported. */
interface Watched {
  readonly builds: WatchedBuild[]
  readonly errors: unknown[]
  close(): void
  /** Waits for builds with a changed library. */
  changes(count: number): Promise<WatchedBuild[]>
}

function watched({ directory }: ProjectFolder, isAnnounced = false): Watched {
  const builds: WatchedBuild[] = []
  const errors: unknown[] = []
  const watcher = watchPackage(directory, {
    onBuild(build) {
      builds.push(build)
      if (isAnnounced) build.announce()
    },
    onError: (error) => void errors.push(error),
  })
  onTestFinished(() => watcher.close())
  const changed = (): WatchedBuild[] => builds.filter((build) => build.changed.length > 0)
  const changes = async (count: number): Promise<WatchedBuild[]> => {
    await expect.poll(() => changed().length).toBe(count)
    return changed()
  }
  return { builds, errors, close: () => watcher.close(), changes }
}

/** The doc in the signature of the built kernel, which has the factor. */
function docOf(build: WatchedBuild): string {
  const { path } = build.changed[0]!
  const { exports } = readBinary(path)
  const symbol = exports.find(({ name }) => name === 'scale__tn_signature')!
  return String(readTextConstants(path, [symbol])[0]).replace(/.*-- /, '')
}

test('builds again after a change of the headers and the annotations of a binding, wherever they are', async () => {
  const outside = makeProject({ 'vendor.api': '', 'include/part.h': '' })
  const [header, folder] = ['vendor.api', 'include'].map((path) => join(outside.directory, path))
  const binding = { headers: [header], annotations: 'bind.json', includes: [folder] }
  const project = makeProject({
    'tenon.config.ts': configText({ libraries: [{ name: 'scales', sources: ['src/*.c'] }], binding }),
    'src/scale.c': scaleKernel(2),
    'bind.json': '{}',
  })
  const { builds, changes } = watched(project)
  await changes(1)
  await sleep(200)
  expect(builds).toHaveLength(1)
  const changed = [
    (): void => outside.write('vendor.api', '#define A 1'),
    (): void => project.write('bind.json', '{ }'),
    (): void => outside.write('include/part.h', '#define A 2'),
  ]
  for (const [index, change] of changed.entries()) {
    change()
    await expect.poll(() => builds.length).toBe(index + 2)
  }
})

test('builds at once and after each change, each time to a file with a new path and the same name', async () => {
  const project = makeProject({ 'tenon.config.ts': config, 'src/scale.c': scaleKernel(2) })
  const { changes, errors } = watched(project)
  await changes(1)
  project.write('src/scale.c', scaleKernel(3))
  const builds = await changes(2)
  expect(builds.map(docOf)).toEqual(['Multiplies by 2.', 'Multiplies by 3.'])
  expect(builds.map(({ changed }) => changed[0]!.path)).toEqual(
    [1, 2].map((number) => join(project.directory, `build/watch/${number}/libscales.so`)),
  )
  expect(errors).toEqual([])
})

test('sees what editors do: replace the file, empty it before writing, and save several times in 10 ms', async () => {
  const project = makeProject({ 'tenon.config.ts': config, 'src/scale.c': scaleKernel(2) })
  const { changes, errors } = watched(project)
  const path = join(project.directory, 'src/scale.c')
  await changes(1)

  writeFileSync(`${path}.swp`, scaleKernel(3))
  renameSync(path, `${path}~`)
  renameSync(`${path}.swp`, path)
  rmSync(`${path}~`)
  await changes(2)

  truncateSync(path)
  await sleep(5)
  writeFileSync(path, scaleKernel(4))
  await changes(3)

  for (const factor of [5, 6, 7]) {
    project.write('src/scale.c', scaleKernel(factor))
    await sleep(4)
  }
  const builds = await changes(4)
  expect(builds.map(docOf)).toEqual([2, 3, 4, 7].map((factor) => `Multiplies by ${factor}.`))
  expect(errors).toEqual([])
})

test('a build that fails is reported once and keeps the old library, and so does a configuration that is wrong', async () => {
  const project = makeProject({ 'tenon.config.ts': config, 'src/scale.c': scaleKernel(2) })
  const { changes, errors, builds } = watched(project)
  await changes(1)
  project.write('src/scale.c', scaleKernel(3).replace('return;', 'return'))
  await expect.poll(() => errors.length).toBe(1)
  expect(String(errors[0])).toContain('src/scale.c')
  project.write('tenon.config.ts', 'export default {}')
  await expect.poll(() => errors.length).toBe(2)
  expect(String(errors[1])).toContain('libraries must be a non-empty array')
  expect(builds.filter(({ changed }) => changed.length > 0)).toHaveLength(1)
  project.write('tenon.config.ts', config)
  project.write('src/scale.c', scaleKernel(4))
  expect(docOf((await changes(2))[1]!)).toBe('Multiplies by 4.')
})

test('new files, and headers in folders outside of the project, cause a build', async () => {
  const outside = makeProject({ 'factor.h': '#define FACTOR 2\n' })
  const includes = [outside.directory.replace(/^.*\//, '../')]
  const project = makeProject({
    'tenon.config.ts': configText({ libraries: [{ name: 'scales', sources: ['src/**/*.c'], includes }] }),
    'src/scale.c': `#include "factor.h"\n${scaleKernel(2).replace('= 2 *', '= FACTOR *')}`,
  })
  const { changes } = watched(project)
  await changes(1)
  outside.write('factor.h', '#define FACTOR 3\n')
  await changes(2)
  project.write('src/deep/other.c', scaleKernel(1, 'other'))
  const builds = await changes(3)
  expect(readBinary(builds[2]!.changed[0]!.path).exports.map(({ name }) => name)).toContain('other')
})

test('the libraries are announced to other processes until the watcher is closed', async () => {
  const project = makeProject({ 'tenon.config.ts': config, 'src/scale.c': scaleKernel(2) })
  const { changes, close } = watched(project, true)
  await changes(1)
  const current = join(project.directory, 'build/watch/current.json')
  await expect.poll(() => existsSync(current)).toBe(true)
  expect(JSON.parse(readFileSync(current, 'utf8'))).toEqual({
    pid: process.pid,
    libraries: { scales: '1/libscales.so' },
  })
  close()
  expect(existsSync(current)).toBe(false)
})

test('two watchers of one project use different folders', async () => {
  const project = makeProject({ 'tenon.config.ts': config, 'src/scale.c': scaleKernel(2) })
  const watchers = [watched(project), watched(project)]
  const [first, second] = await Promise.all(watchers.map(({ changes }) => changes(1)))
  expect(first![0]!.changed[0]!.path).not.toBe(second![0]!.changed[0]!.path)
})
