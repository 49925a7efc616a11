import type { HeaderCompiler } from '../read/preprocess.ts'

/** The headers after the preprocessor, and lines of C behind them, each by its index. */
export interface ExpandedLines {
  readonly headers: string
  readonly lines: ReadonlyMap<number, string>
}

const HERE = 'tenon_line_'

const LINE = new RegExp(`${HERE}(\\d+) (.*?)(?=${HERE}|$)`, 'g')

/**
 * Expands the macros in lines of C code behind the headers. What is compiled afterwards has no macros, so that each error is reported at the
 * line to which it belongs, and not at the definition of a macro.
 *
 * @param before C code before the lines, after the headers.
 * @throws {CompilerError} if the preprocessor fails
 */
export async function expandLines(
  compiler: HeaderCompiler,
  lines: readonly string[],
  before = '',
): Promise<ExpandedLines> {
  const marked = lines.map((line, index) => `${HERE}${index} ${line}`)
  const text = await compiler.preprocess(
    `${compiler.includes}${before}\n${HERE}begin\n${marked.join('\n')}\n${HERE}end\n`,
  )
  const begin = text.lastIndexOf(`${HERE}begin`)
  const end = text.lastIndexOf(`${HERE}end`)
  const expanded = text
    .slice(begin + HERE.length + 'begin'.length, end)
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join(' ')
  const found = new Map<number, string>()
  for (const [, index, line = ''] of expanded.matchAll(LINE)) found.set(Number(index), line)
  return { headers: text.slice(0, begin), lines: found }
}
