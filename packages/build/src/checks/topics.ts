import { globSync } from 'node:fs'
import { posix } from 'node:path'

import { ToolError } from '../tool-error.ts'
import { type CFile, listIncludes } from './c-files.ts'

/**
 * The folders of a package's sources, each with one topic. A file includes headers of its own topic and, of lower topics, only headers
 * in `shared`. The other headers of a topic are private.
 */
export interface Topics {
  /** The directory of the folders, relative to the package. */
  readonly directory: string
  /**
   * The directory of the headers that topics share with each other: `SHARED/TOPIC/*.h` and `SHARED/*_TOPIC.h`. Other files in it belong to the lowest
   * level.
   */
  readonly shared: string
  /** The names of the folders, from the lowest level to the highest. Topics of one level do not use each other. */
  readonly levels: readonly (readonly string[])[]
}

/** A file with the files that it includes. */
type Including = Pick<CFile, 'path' | 'includes'>

/** Returns a sentence for each include of a private header of another topic, and of a header of a topic that is not lower. */
export function findWrongIncludes(files: readonly Including[], topics: Topics): string[] {
  return files.flatMap(({ path, includes }) => {
    const own = topicOf(path, topics)
    if (own === undefined) return []
    return includes.flatMap((include) => {
      const other = topicOf(include, topics)
      if (other === undefined || other === own) return []
      if (!isIn(include, topics.shared))
        return [
          `${path} must not include ${include}, which is private to ${other}. Move it to ${topics.shared}/${other}.`,
        ]
      return isBelow(other, own, topics)
        ? []
        : [`${path} must not include ${include}, because ${own} is not above ${other}`]
    })
  })
}

/** Returns a sentence for each symbol of a topic that is not lower than that of the file that uses it. */
export function findUpwardUses(files: readonly CFile[], topics: Topics): string[] {
  const definedBy = new Map(files.flatMap(({ path, defined }) => defined.map((name) => [name, path] as const)))
  return files.flatMap(({ path, used }) => {
    const own = topicOf(path, topics)
    return used.flatMap((name) => {
      const definer = definedBy.get(name)
      const other = definer === undefined ? undefined : topicOf(definer, topics)
      if (own === undefined || other === undefined || other === own || isBelow(other, own, topics)) return []
      return [`${path} must not use ${name} of ${definer}, because ${own} is not above ${other}`]
    })
  })
}

/** Checks the includes of all sources of a package. @throws {ToolError} with a line for each problem. */
export function checkTopics(directory: string, topics: Topics): void {
  const paths = globSync(`${topics.directory}/**/*.{c,cc,cu,h,hh,def,inc}`, { cwd: directory }).map((path) =>
    path.replaceAll('\\', '/'),
  )
  const files = paths.map((path) => ({ path, includes: listIncludes(directory, path, [topics.shared]) }))
  const problems = findWrongIncludes(files, topics)
  if (problems.length > 0) throw new ToolError(problems.toSorted().join('\n'))
}

/** The topic of a file, or undefined if it belongs to none, such as a test. */
function topicOf(path: string, { directory, shared, levels }: Topics): string | undefined {
  const folder = isIn(path, shared) ? shared : directory
  if (!isIn(path, folder)) return undefined
  const [first, ...rest] = posix.relative(folder, path).split('/')
  if (rest.length > 0) return levels.some((level) => level.includes(first!)) ? first : undefined
  if (folder !== shared) return undefined
  return levels.flat().find((topic) => first!.endsWith(`_${topic}.h`)) ?? levels[0]?.[0]
}

function isBelow(lower: string, higher: string, { levels }: Topics): boolean {
  const levelOf = (topic: string): number => levels.findIndex((level) => level.includes(topic))
  return levelOf(lower) < levelOf(higher)
}

function isIn(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`)
}
