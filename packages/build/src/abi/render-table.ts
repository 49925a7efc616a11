const NOTE = 'Generated from the C headers by tenon-build. Do not edit.'

/** A constant object of TypeScript from the lines of its members. */
export function renderTable(summary: string, name: string, lines: readonly string[]): string {
  return [`/**\n * ${summary}\n *\n * ${NOTE}\n */`, `export const ${name} = {`, ...lines, '} as const', ''].join('\n')
}
