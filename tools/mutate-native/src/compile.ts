import { ToolError } from '@tenon/build'
import { type Compiler, runCommand } from '@tenon/build/internal'

import type { Arm, NumberedMutant, Rendered } from './render.ts'

/** How a file of a package is compiled. */
export interface Compilation {
  readonly compiler: Compiler
  /** The include directories and macros. */
  readonly flags: readonly string[]
  /** The directory that paths are relative to. */
  readonly directory: string
}

/** An error of gcc or clang: `csrc/base/memory.c:12:5: error: ...`. Columns count bytes. */
const errorPattern = /^([^\s:]+):(\d+):(\d+): (?:fatal )?error: (.*)$/gm

/** How often a file is compiled without the mutants of the errors before. */
const MOST_TRIES = 12

/**
 * Returns the mutants of a file that the compiler accepts. The others are of code for other systems, or have wrong types.
 *
 * @param write writes the file with some of its mutants.
 * @throws {ToolError} if the file does not compile without its mutants.
 */
export async function keepCompiling(
  file: string,
  mutants: readonly NumberedMutant[],
  write: (mutants: readonly NumberedMutant[]) => Rendered,
  compilation: Compilation,
): Promise<NumberedMutant[]> {
  let kept = [...mutants]
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const rendered = write(kept)
    const { code, stdout, stderr } = await compile(compilation, ['-fsyntax-only', '-w', '-fmax-errors=0'], file)
    if (code === 0) {
      const expanded = await compile(compilation, ['-E', '-w'], file)
      const present = new Set([...expanded.stdout.matchAll(/tn__mutated\((\d+)\)/g)].map((match) => Number(match[1])))
      return kept.filter(({ number }) => present.has(number))
    }
    const refused = refusedBy(file, rendered, stderr)
    if (refused.size === 0) throw new ToolError(`${file} with its mutants did not compile:\n${stderr || stdout}`)
    kept = kept.filter(({ number }) => !refused.has(number))
  }
  throw new ToolError(`${file} did not compile after ${MOST_TRIES} tries`)
}

function compile(
  { compiler, flags, directory }: Compilation,
  first: readonly string[],
  file: string,
): ReturnType<typeof runCommand> {
  return runCommand(compiler.command, [...compiler.args, ...first, ...flags, file], { cwd: directory })
}

/** The numbers of the mutants that the errors of a compiler are of. */
function refusedBy(file: string, { text, arms }: Rendered, errors: string): Set<number> {
  const lines = text.split('\n')
  const starts: number[] = []
  let start = 0
  for (const line of lines) {
    starts.push(start)
    start += line.length + 1
  }
  const refused = new Set<number>()
  for (const [, path, line, column] of errors.matchAll(errorPattern)) {
    // Two lines come before the first of the source.
    const index = Number(line) + 1
    if (path !== file || lines[index] === undefined) continue
    const before = Buffer.from(lines[index])
      .subarray(0, Number(column) - 1)
      .toString().length
    const found = armsAt(arms, starts[index]! + before)
    const end = starts[index]! + lines[index].length
    const onLine = arms.filter((arm) => arm.start < end && arm.end > starts[index]!)
    for (const { mutant } of found.length > 0 ? found : onLine) refused.add(mutant.number)
  }
  return refused
}

/** The mutants whose code is at an offset of the text. Else those of the innermost choice there. */
function armsAt(arms: readonly Arm[], offset: number): Arm[] {
  const direct = arms.filter(({ start, end }) => start <= offset && offset < end)
  if (direct.length > 0) return direct
  const around = arms.filter(({ choiceStart, choiceEnd }) => choiceStart <= offset && offset < choiceEnd)
  const size = Math.min(...around.map(({ choiceStart, choiceEnd }) => choiceEnd - choiceStart))
  return around.filter(({ choiceStart, choiceEnd }) => choiceEnd - choiceStart === size)
}
