import type { Quartiles, RowResult } from './result.ts'

/**
 * Formats the results of one file as a table with a column for each version of Node.js. Each row has its own figure, and a
 * line for each peer with the figure of the peer and the ratio ours/peer. Half the interquartile range follows each figure.
 */
export function formatTable(results: readonly RowResult[]): string {
  const nodes = [...new Set(results.map(({ node }) => node))]
  const lines: string[][] = []
  for (const packageName of new Set(results.map((result) => result.package))) {
    const ofPackage = results.filter((result) => result.package === packageName)
    lines.push([packageName, ...nodes.map((node) => (/^\d/.test(node) ? `Node ${node}` : node))])
    for (const name of new Set(ofPackage.map((result) => result.name))) {
      const byNode = nodes.map((node) => ofPackage.find((result) => result.name === name && result.node === node))
      lines.push([`  ${name}`, ...byNode.map((result) => (result ? formatOurs(result) : '-'))])
      const peers = new Set(byNode.flatMap((result) => Object.keys(result?.peers ?? {})))
      for (const peer of peers) {
        lines.push([
          `    / ${peer}`,
          ...byNode.map((result) => (result && peer in result.peers ? formatPeer(result, peer) : '-')),
        ])
      }
    }
  }
  return align(lines)
}

function formatOurs(result: RowResult): string {
  return `${figure(result.ours).padStart(7)} ${result.unit} ${spread(result.ours, result.quartiles.ours)}`
}

function formatPeer(result: RowResult, peer: string): string {
  const value = result.peers[peer]!
  const ratio = result.ratios[peer]!
  const target = result.target?.[peer]
  const wanted =
    target === undefined ? '' : ` (${result.unit === 'GB/s' ? '>=' : '<='} ${Number(target.toPrecision(3))})`
  const left = `${figure(value).padStart(7)} ${result.unit} ${spread(value, result.quartiles.peers[peer]!)}`
  return `${left.padEnd(17)} x${formatRatio(ratio)} ${spread(ratio, result.quartiles.ratios[peer]!)}${wanted}`
}

function figure(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value.toFixed(value >= 10 ? 1 : 2)
}

function spread(median: number, [low, high]: Quartiles): string {
  return `±${(((high - low) / 2 / median) * 100).toFixed(0)}%`
}

export function align(lines: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const line of lines) {
    for (const [column, cell] of line.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  }
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats a ratio, a small one with two significant digits. */
export function formatRatio(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)
}
