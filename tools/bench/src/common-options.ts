import { findNode } from '@tenon/config/node-versions'

/** The options that `pnpm bench` and `pnpm bench:alive` have in common. */
export interface CommonOptions {
  readonly json: boolean
  readonly check: boolean
  readonly source: boolean
  readonly help: boolean
  /** The packages to measure; all of them if the list is empty. */
  readonly filter: readonly string[]
  /** The bench files to measure instead of those of the packages. */
  readonly files: readonly string[]
  readonly row?: string | undefined
  readonly nodes: readonly string[]
}

/** The same options for `parseArgs`. */
export const commonOptions = {
  json: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  source: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  filter: { type: 'string', multiple: true, default: [] as string[] },
  node: { type: 'string' },
  row: { type: 'string' },
} as const

/** The paths of the versions of Node.js in a list with commas; that of this process without one. */
export const findNodes = (majors: string | undefined): string[] =>
  majors === undefined ? [process.execPath] : majors.split(',').map((major) => findNode(major.trim()))
