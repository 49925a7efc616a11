import { execFileSync } from 'node:child_process'
import { posix } from 'node:path'
import { DebugInfo, type SourceFrame } from '../../src/debug-info/debug-info.ts'

/** How the frames of all instructions of a file compare with those of `addr2line`. */
export interface Comparison {
  readonly same: number
  /** Addresses for which a line is known to addr2line alone. */
  readonly unknown: number
  /** Addresses for which addr2line is wrong, as the tables of the file show. */
  readonly excused: number
  /** Descriptions of the addresses that differ otherwise. */
  readonly wrong: readonly string[]
}

/** A frame as addr2line prints it: the name in the symbol table, and the place. */
interface PrintedFrame {
  readonly name: string
  readonly place: string
}

const UNKNOWN = '??'

export interface ComparisonOptions {
  /** Another program with the options of addr2line. Where the two differ, one of them may be right. */
  readonly second?: string | undefined
  /** The addresses of the instructions; by default all of the file. */
  readonly addresses?: readonly number[]
  /** The prefix of addr2line and objdump for another processor, such as `aarch64-linux-gnu-`. */
  readonly prefix?: string
}

/** The addresses of all instructions in the sections with code. */
function instructionsOf(path: string, prefix: string): number[] {
  const text = run(`${prefix}objdump`, ['--disassemble', '--no-show-raw-insn', path])
  return [...text.matchAll(/^ +([0-9a-f]+):\t/gm)].map(([, address]) => Number.parseInt(address!, 16))
}

/**
 * Compares the frames of instructions with those of addr2line: names, files, lines, and inlined functions.
 *
 * @param path of the file with the code
 * @param debugPath of the file with the debug information
 */
export function compareWithAddr2line(
  path: string,
  debugPath: string = path,
  { second, prefix = '', addresses = instructionsOf(path, prefix) }: ComparisonOptions = {},
): Comparison {
  const printed = printedFrames(`${prefix}addr2line`, debugPath, addresses)
  const rows = new LineRows(debugPath, `${prefix}objdump`)
  const info = DebugInfo.open(path)
  try {
    let [same, unknown, excused] = [0, 0, 0]
    const wrong: string[] = []
    let others: PrintedFrame[][] | undefined
    const isOther = (index: number, frames: readonly SourceFrame[]): boolean => {
      if (second === undefined) return false
      others ??= printedFrames(second, debugPath, addresses)
      return isSame(frames.map(printedFrame), corrected(others[index]!, frames, undefined))
    }
    for (const [index, address] of addresses.entries()) {
      const expected = printed[index]!
      const frames = info.locate(address)
      const got = frames.map(printedFrame)
      if (isSame(got, expected)) same += 1
      // Without a line, addr2line prints no name for most addresses.
      else if (isUnknown(expected) && isUnknown(got)) same += 1
      else if (isUnknown(got) || isUnnamed(got, expected)) unknown += 1
      else if (isSame(got, corrected(expected, frames, rows.at(address))) || isOther(index, frames)) excused += 1
      else wrong.push(`${path} 0x${address.toString(16)}: got ${textOf(got)}, expected ${textOf(expected)}`)
    }
    return { same, unknown, excused, wrong }
  } finally {
    info.close()
  }
}

/** The frames of each address as addr2line, or a program with its options, prints them. */
function printedFrames(program: string, path: string, addresses: readonly number[]): PrintedFrame[][] {
  const input = addresses.map((address) => `0x${address.toString(16)}\n`).join('')
  const lines = run(program, ['-a', '-f', '-i', '-e', path], input).trimEnd().split('\n')
  const all: PrintedFrame[][] = []
  for (let index = 0; index < lines.length;) {
    if (/^0x[0-9a-f]+$/.test(lines[index]!)) {
      all.push([])
      index += 1
    } else {
      all.at(-1)!.push({ name: lines[index]!, place: placeOf(lines[index + 1]!) })
      index += 2
    }
  }
  return all
}

function placeOf(text: string): string {
  const [, file, line] = /^(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$/.exec(text)!
  return file === UNKNOWN || line === '0' ? `${normalized(file!)}:?` : `${normalized(file!)}:${line}`
}

const normalized = (file: string): string => (file === UNKNOWN ? file : posix.normalize(file))

function printedFrame({ function: name, linkageName, file, line }: SourceFrame): PrintedFrame {
  return { name: linkageName ?? name ?? UNKNOWN, place: `${normalized(file ?? UNKNOWN)}:${line ?? '?'}` }
}

const isSame = (frames: readonly PrintedFrame[], other: readonly PrintedFrame[]): boolean =>
  textOf(frames) === textOf(other)

const isUnknown = (frames: readonly PrintedFrame[]): boolean => frames.every(({ place }) => place.endsWith(':?'))

/** Whether only the name of a function is missing, as for the bytes between two functions. */
const isUnnamed = (frames: readonly PrintedFrame[], expected: readonly PrintedFrame[]): boolean =>
  frames.length === 1 && frames[0]!.name === UNKNOWN && expected.length === 1 && frames[0]!.place === expected[0]!.place

const textOf = (frames: readonly PrintedFrame[]): string =>
  frames.map(({ name, place }) => `${name} ${place}`).join(', ')

/**
 * The frames without three faults of addr2line 2.40: an innermost inlined function without a linkage name gets the name of the function that
 * contains it, code of the first file of DWARF 5 gets the name of the unit, and a function in
 * several parts, or a copy of one, has the name of the part.
 */
function corrected(
  expected: readonly PrintedFrame[],
  frames: readonly SourceFrame[],
  row: string | undefined,
): readonly PrintedFrame[] {
  const container = frames.at(-1)
  return expected.map((frame, depth) => {
    const got = frames[depth]
    if (got === undefined || container === undefined) return frame
    const plain = frame.name.replace(/(\.(cold|constprop|isra|part)(\.\d+)*)+$/, '')
    const isContainer = depth === 0 && got.linkageName === undefined && hasName(container, plain)
    const isNamed = isContainer || hasName(got, plain)
    const isInRow = depth === 0 && row === `${posix.basename(got.file ?? '')}:${got.line}`
    const { name, place } = printedFrame(got)
    return { name: isNamed ? name : frame.name, place: isInRow ? place : frame.place }
  })
}

/** Whether addr2line prints the linkage name of a function, or its name without the scope, the parameters and template arguments. */
function hasName({ function: name = '', linkageName }: SourceFrame, printed: string): boolean {
  if (printed === linkageName) return true
  const [identifier] = printed.split('<')
  return identifier !== '' && !printed.startsWith('_Z') && name.split(/[<(:\s]+/).includes(identifier!)
}

/** The rows of the table of lines as `objdump` prints them, which reads them with other code than addr2line. */
class LineRows {
  readonly #path: string
  readonly #objdump: string
  #rows: readonly (readonly [address: number, place: string, isEnd: boolean])[] | undefined

  constructor(path: string, objdump: string) {
    this.#path = path
    this.#objdump = objdump
  }

  /** The base name of the file and the line of an address. */
  at(address: number): string | undefined {
    this.#rows ??= this.#read()
    let [low, high] = [0, this.#rows.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#rows[middle]![0] <= address) low = middle + 1
      else high = middle
    }
    const row = this.#rows[low - 1]
    return row === undefined || row[2] ? undefined : row[1]
  }

  #read(): [number, string, boolean][] {
    const text = run(this.#objdump, ['--dwarf=decodedline', this.#path])
    const rows = [...text.matchAll(/^(\S+) +(\d+|-) +(0x[0-9a-f]+|0)\b.*$/gm)].map(
      ([, file, line, address], index) => [Number(address), `${file}:${line}`, line === '-', index] as const,
    )
    // An end of a sequence comes before the start of the next one at the same address.
    return rows
      .toSorted((a, b) => a[0] - b[0] || Number(b[2]) - Number(a[2]) || a[3] - b[3])
      .map(([address, place, isEnd]) => [address, place, isEnd])
  }
}

function run(program: string, args: readonly string[], input?: string): string {
  return execFileSync(program, args, { input, encoding: 'utf8', maxBuffer: 2 ** 30, stdio: ['pipe', 'pipe', 'ignore'] })
}
