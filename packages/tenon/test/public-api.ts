import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { methodsByClass } from '@tenon/config/public-methods'
import * as client from '../../serve/src/client.ts'
import * as serve from '../../serve/src/index.ts'
import * as build from '../src/entries/build.ts'
import * as bundler from '../src/entries/bundler.ts'
import * as project from '../src/entries/project.ts'
import * as testing from '../src/entries/testing.ts'
import * as tenon from '../src/index.ts'
import { root } from './reader.ts'

const entries = [
  'binary',
  'bind',
  'build',
  'core',
  'core/errors',
  'core/koffi',
  'core/testing',
  'scope',
  'scope/bind',
  'scope/linker',
  'scope/testing',
  'custom-call',
  'packed-func',
  'tstring',
  'tensorflow',
  'arrow',
  'weights',
  'pools',
  'isolate',
  'nnapi',
  'nnapi/hidl',
  'build',
]

const modules = await Promise.all(entries.map((entry) => import(`@tenon/${entry}`) as Promise<object>))

/** Everything that the entries of the packages export, by name. */
const exported: ReadonlyMap<string, unknown> = new Map(
  [...modules, tenon, build, bundler, project, testing, serve, client].flatMap((module) => Object.entries(module)),
)

/** The sources of the packages. */
export const sources: readonly { readonly path: string; readonly text: string }[] = globSync('packages/*/src/**/*.ts', {
  cwd: root,
})
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const methods = sources.flatMap(({ text }) => [...methodsByClass(text).values()])
const hidden = new Set(methods.flatMap((of) => [...of.hidden]))

/** The public methods of classes, without the overridden hooks of base classes, and the members of interfaces. */
const members: ReadonlySet<string> = new Set([
  'release', // Hold.release() is public, and the hook of lifetimes with this name is not.
  ...methods.flatMap((of) => [...of.public]).filter((name) => !hidden.has(name)),
  ...sources.flatMap(({ text }) =>
    [...text.matchAll(/^(?:export )?interface .*?^}/gms)].flatMap(([body]) =>
      [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??(?:<[^(]*>)?[(:]/gm)].map(([, name]) => name!),
    ),
  ),
])

/**
 * Whether a called name is public: an export such as `f32`, a member of one such as `ResourceScope.ofConfined`, or a member of
 * some object, such as `closeAsync` and `memory.tensor`.
 */
export function isPublic(name: string): boolean {
  const [first, second] = name.split('.') as [string, string?]
  const owner = second !== undefined && /^[A-Z]/.test(first) ? exported.get(first) : undefined
  if (owner === undefined) return exported.has(name) || members.has(second ?? first)
  const prototype = (owner as { readonly prototype?: object }).prototype ?? {}
  return Reflect.has(owner as object, second!) || Reflect.has(prototype, second!)
}

/** The names that a text calls: `f32` and `ResourceScope.ofConfined` in `f32(1), ResourceScope.ofConfined()`. */
export const calledIn = (text: string): string[] =>
  [...text.matchAll(/(?<![\w$.])([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\(/g)].map(([, name]) => name!)
