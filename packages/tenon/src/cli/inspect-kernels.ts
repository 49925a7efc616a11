import { isCppHandler } from '../signatures/handler-signatures.ts'
import type { InspectReport, KernelReport } from './inspect-report.ts'
import { alignColumns } from './terminal.ts'

const isPacked = ({ convention }: KernelReport): boolean => convention === 'packed' || convention === 'legacy'

/** The lines about custom calls: name, convention, and the source and the text of the signature. */
export function customCallLines(report: InspectReport): string[] {
  return kernelLines(
    report,
    report.kernels.filter((kernel) => !isPacked(kernel)),
  )
}

/** The lines about packed functions, whose convention is that of the library. */
export function packedLines(report: InspectReport): string[] {
  return kernelLines(report, report.kernels.filter(isPacked))
}

function kernelLines(report: InspectReport, kernels: readonly KernelReport[]): string[] {
  const hidden = new Set(report.hidden)
  const rows = kernels.flatMap((kernel) => {
    const { name, source, signature, differing, unreadable } = kernel
    const [first = ['', ''], ...others] = [
      ...(signature === undefined ? [] : [[source, oneLine(signature)]]),
      ...differing.map((other) => [other.source, `${oneLine(other.signature ?? '')} (differs, not used)`]),
      ...unreadable.flatMap(({ source: from, reason }) => {
        const [line = '', ...more] = reason.split('\n')
        return [[from, `cannot be read: ${line}`], ...more.map((text) => ['', text])]
      }),
    ]
    return [[name, place(kernel, hidden), ...first], ...others.map((other) => ['', '', ...other])]
  })
  return alignColumns(rows, '  ')
}

/** The text after `--` of a signature can have several lines. */
const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ')

/** The convention, unless the heading states it, and why the kernel is not an exported function. */
function place(kernel: KernelReport, hidden: ReadonlySet<string>): string {
  const { name, convention, symbol, statedSymbol, platform } = kernel
  const facts = isPacked(kernel) ? [] : [convention as string]
  if (platform !== undefined) facts.push(`registered for ${platform}`)
  else if (symbol === undefined) {
    const why = hidden.has(statedSymbol ?? name) ? 'hidden' : 'not exported'
    facts.push(statedSymbol === undefined ? why : `${statedSymbol} is ${why}`)
  }
  return facts.join(', ')
}

/** Functions of C compilers. */
const ofCompiler = new Set(['deregister_tm_clones', 'register_tm_clones', 'frame_dummy'])

/**
 * The functions that are not exported and may be handlers. A library has such functions if it has handlers of XLA's C++
 * header, is an extension of Python, or describes a kernel that it does not export. The functions of other libraries are
 * helpers.
 */
export function hiddenCandidates({ hidden, exports, kernels, cppHandlers }: InspectReport): string[] {
  const names = new Set(hidden)
  const isLikely =
    cppHandlers > 0 ||
    hidden.some(isCppHandler) ||
    exports.some(({ name }) => name.startsWith('PyInit_')) ||
    kernels.some(
      ({ name, symbol, statedSymbol, platform }) =>
        symbol === undefined && platform === undefined && names.has(statedSymbol ?? name),
    )
  return isLikely ? hidden.filter((name) => /^[A-Za-z]\w*$/.test(name) && !ofCompiler.has(name)) : []
}
