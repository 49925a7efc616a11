import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { hostPlatform, type PlatformName } from '@tenon/build'
import { buildDirectory } from '@tenon/build'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

import { releasedPlatforms } from '../../src/lib/platforms.ts'
import { root } from '../../src/lib/root.ts'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, string>>
}

interface Job {
  readonly needs?: string | readonly string[]
  readonly if?: string
  readonly uses?: string
  readonly environment?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> }
  readonly 'continue-on-error'?: string
  readonly steps?: readonly Step[]
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly jobs: Readonly<Record<string, Job>>
}

const read = (name: string): Workflow => parse(readFileSync(join(root, '.github/workflows', name), 'utf8')) as Workflow

const [ci, release] = [read('ci.yml'), read('release.yml')]
const jobs = release.jobs as Readonly<Record<string, Job>> & { readonly publish: Job }
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/** All jobs that must end well before a job starts. */
function before(name: string): string[] {
  const needs = [jobs[name]!.needs ?? []].flat()
  return [...new Set(needs.flatMap((one) => [one, ...before(one)]))].toSorted()
}

/** The inputs of the steps of a job that use an action of GitHub. */
const inputsOf = (job: Job, action: string): unknown[] =>
  (job.steps ?? []).filter(({ uses }) => uses?.startsWith(`actions/${action}@`)).map((step) => step.with)

const commands = (job: Job): string[] =>
  (job.steps ?? []).flatMap(({ run = '' }) => [...run.matchAll(/pnpm@12 (.*)$/gm)].map(([, command]) => command!))

describe('the release workflow', () => {
  test('publishes nothing unless the checks of pull requests have passed', () => {
    expect(Object.keys(ci.on)).toContain('workflow_call')
    expect(jobs['ci']!.uses).toBe('./.github/workflows/ci.yml')
    expect(before('native')).toEqual(['ci', 'select'])
    expect(before('publish')).toEqual(['check', 'ci', 'native', 'pack', 'rehearse', 'select'])
  })

  test('packs once, and checks, rehearses and publishes these tarballs', () => {
    const packing = Object.entries(jobs).filter(([, job]) =>
      commands(job).some((one) => /^(release:)?pack\b/.test(one)),
    )
    expect(packing.map(([name]) => name)).toEqual(['pack'])
    expect(commands(jobs['pack']!)).toEqual(['release:pack release'])
    expect(commands(jobs['check']!)).toEqual(['release:check release'])
    expect(commands(jobs['rehearse']!)).toEqual(['release:rehearse release', 'rehearse:kernel --packages release'])
    expect(commands(jobs.publish)).toEqual(['release release'])
    const packed = { name: 'release', path: 'release' }
    for (const name of ['check', 'rehearse']) expect(inputsOf(jobs[name]!, 'download-artifact')).toEqual([packed])
    expect(inputsOf(jobs.publish, 'download-artifact')).toContainEqual(packed)
  })

  test('attaches the debug files of each released platform to the GitHub release', () => {
    const name = '${{ matrix.platform }}' as PlatformName
    const path = `packages/core/${buildDirectory('release', { ...hostPlatform, name }, true)}/*.debug`
    expect(inputsOf(jobs['native']!, 'upload-artifact')).toContainEqual({
      name: `debug-${name}`,
      path,
      'if-no-files-found': 'error',
    })
    const archives = 'release/debug-*.tar.gz'
    expect(inputsOf(jobs.publish, 'download-artifact')).toContainEqual({ pattern: 'debug-*', path: 'debug' })
    const [archive, create] = jobs.publish.steps!.map(({ run }) => run ?? '').filter((run) => run.includes('release/'))
    expect(archive).toContain('tar --create --gzip --file "release/${one##*/}.tar.gz"')
    expect(create).toContain(archives)
  })

  test('only publish may sign in to npm, and what writes the site to its branch runs nothing of the project', () => {
    const writing = Object.entries(jobs).filter(([, job]) => Object.values(job.permissions ?? {}).includes('write'))
    expect(writing.map(([name]) => name)).toEqual(['publish', 'deploy'])
    expect(jobs.publish).toMatchObject({ environment: 'npm', permissions: { 'id-token': 'write' } })
    expect(jobs['deploy']!.permissions).toEqual({ contents: 'write' })
    expect(commands(jobs['deploy']!)).toEqual([])
  })

  test('main is built for the site with each push, and a release after it was published', () => {
    expect(jobs['site']!.needs).toEqual(['ci', 'select', 'publish'])
    expect(commands(jobs['site']!)).toEqual(['install', 'docs:collect site', 'docs:collect site --next'])
    expect(ci.jobs['site'] && commands(ci.jobs['site'])).toEqual(['install', 'docs:build', 'docs:test'])
  })

  test('the pull request with the versions is that of an app, so that CI runs on it', () => {
    const [app, version] = jobs['version']!.steps!.slice(-2)
    expect(app!.uses).toMatch(/^actions\/create-github-app-token@/)
    expect(version!.with).toMatchObject({ 'github-token': '${{ steps.app.outputs.token }}' })
  })

  test('builds and rehearses the platforms of platforms.json that are released', () => {
    for (const name of ['native', 'rehearse']) {
      expect(jobs[name]!.strategy).toEqual({ matrix: { include: '${{ fromJSON(needs.select.outputs.platforms) }}' } })
    }
    expect(commands(jobs['select']!)).toContain('platforms --released')
  })

  test('runs commands that exist', () => {
    const names = [...Object.values(jobs), ...Object.values(ci.jobs)].flatMap(commands).map((one) => one.split(' ')[0]!)
    expect(names.length).toBeGreaterThan(10)
    expect(names.filter((name) => name !== 'install' && manifest.scripts[name] === undefined)).toEqual([])
  })
})

test('CI tests each released platform on every version of Node.js, and another platform fails nothing', () => {
  const { test: job } = ci.jobs as { readonly test: Job }
  const runners = releasedPlatforms().map(({ runner }) => runner)
  const required = JSON.parse(/fromJSON\('([^']*)'\)/.exec(job['continue-on-error']!)![1]!) as string[]
  expect(required.toSorted()).toEqual(runners.toSorted())
  expect(job.strategy!.matrix).toMatchObject({ os: expect.arrayContaining(runners) as unknown, node: [22, 24, 26] })
})
