import { readFile, writeFile } from 'node:fs/promises'

/** Directives of Mach-O that have no counterpart in ELF, and that these programs do not need. */
const dropped = /^\s*\.(build_version|subsections_via_symbols|loh|zerofill|no_dead_strip|private_extern)\b/

/**
 * Turns assembly for Apple's processors into assembly for ELF. The instructions are the same, so a program for Linux can
 * contain functions with Apple's calling convention.
 */
export async function elfAssembly(path: string): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => !dropped.test(line))
  await writeFile(path, lines.map(elfLine).join('\n'))
}

function elfLine(line: string): string {
  const code = line.replace(/;.*$/, '')
  if (/^\s*\.section/.test(code)) return sectionOf(code)
  return code
    .replace(/\b_(\w+)@GOTPAGEOFF\b/g, ':got_lo12:$1')
    .replace(/\b_(\w+)@GOTPAGE\b/g, ':got:$1')
    .replace(/\b_?(\w+)@PAGEOFF\b/g, ':lo12:$1')
    .replace(/\b_?(\w+)@PAGE\b/g, '$1')
    .replace(/(^|[\s,])_(\w+)/g, '$1$2')
}

function sectionOf(code: string): string {
  if (code.includes('__text')) return '.text'
  if (code.includes('__const') && code.includes('__DATA')) return '.section .data.rel.ro, "aw"'
  if (code.includes('__TEXT')) return '.section .rodata'
  return '.data'
}
