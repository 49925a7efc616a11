import { markdownTable } from '@tenon/bench'
import { contestants } from '../contestants/index.ts'
import { type Loss, lossesAmong, noisyRowsAmong, slowRowsAmong, smallerThanTenon } from '../judgement.ts'
import { knownLosses } from '../known-losses.ts'
import { lines } from '../lines/index.ts'
import type { Finding } from '../verdict.ts'
import type { Plot } from './plots.ts'
import type { Proof } from './proof.ts'
import {
  figureText,
  findingsTable,
  mebibytes,
  ratioText,
  runtimeOf,
  sizesTable,
  speedTable,
  wordFor,
} from './tables.ts'

/** The most characters of a message of a contestant. */
const MESSAGE = 110

/** Writes docs/proof.md. Each sentence with a figure or a verdict is computed from the run. */
export function writePage(proof: Proof, plots: readonly Plot[]): string {
  return [
    ...introduction(proof),
    ...lossSections(proof),
    ...speedSection(proof, plots),
    ...behaviourSections(proof),
  ].join('\n')
}

function introduction({ machine, commit, date, versions, absent }: Proof): string[] {
  const { cpu, cores, memoryBytes, platform, kernel, load } = machine
  return [
    '# Proof',
    '',
    'Tenon and its rivals do the same work here, and the same checks judge all of them. The page is written by one command, and each line by the command',
    'in it. Nobody writes a verdict or a figure by hand.',
    '',
    '```text',
    'npx pnpm@12 prove                                    # all lines, in less than ten minutes; writes this page',
    'npx pnpm@12 prove --only crash                       # the lines of one area',
    'npx pnpm@12 prove --only crash/null-write/koffi      # one line with one contestant',
    '```',
    '',
    `- Date: ${date.slice(0, 16).replace('T', ' ')} UTC`,
    `- Commit: ${commit}`,
    `- Machine: ${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${platform}, kernel ${kernel}; ${load} processes ran on average in the minute before`,
    `- Versions: ${Object.entries(versions)
      .map((version) => version.join(' '))
      .join(', ')}`,
    ...absent.map(({ name, reason }) => `- Absent: ${name}, because of an error: ${reason}`),
    '',
    '[`tools/prove`](../tools/prove/README.md) has the C functions, a file for each contestant and a file for each kind of line. [Benchmarks](benchmarks.md) and',
    '[what Tenon does not do](limits.md) say more about its own figures and limits.',
    '',
    markdownTable(
      ['contestant', 'how it does the work', 'runtime'],
      contestants.map(({ name, description, runtimes }) => [name, description, runtimes.join(', ')]),
    ),
    '',
  ]
}

function lossSections({ findings, results, sizes }: Proof): string[] {
  const smaller = smallerThanTenon(sizes).map((name) => `${name} (${mebibytes(sizes[name]!)})`)
  const losses = lossesAmong(findings, lines)
  const slow = slowRowsAmong(results)
  return [
    '## Where Tenon loses',
    '',
    `Tenon does not do what ${losses.length} lines expect. The rivals that do better are named, and the reason is that of the list of known losses.`,
    '',
    markdownTable(['line', 'what happens', 'better', 'reason'], losses.map(lossRow)),
    '',
    `Tenon is slower in ${slow.length} comparisons: three quarters of the rounds say so. A ratio is the time of Tenon through that of the rival.`,
    '',
    markdownTable(
      ['line', 'runtime', 'Tenon', 'rival', 'its time', 'ratio (quartiles)'],
      slow.map(({ row, rival }) => [
        row.name,
        runtimeOf(row),
        figureText(row, row.ours),
        rival,
        figureText(row, row.peers[rival]!),
        ratioText(row, rival),
      ]),
    ),
    '',
    ...(smaller.length === 0
      ? []
      : [
          `An installation of Tenon takes ${mebibytes(sizes['tenon']!)}, which is more than that of ${smaller.join(', ')}.`,
          '',
        ]),
  ]
}

function lossRow({ finding, better }: Loss): string[] {
  const { line, contestant } = finding
  const known = knownLosses.find((one) => one.line === line && one.contestant === contestant)
  return [
    `${line}/${contestant}`,
    wordFor(finding),
    better.join(', ') || 'none',
    known?.reason ?? 'not known: this is a defect',
  ]
}

function speedSection({ results, sizes }: Proof, plots: readonly Plot[]): string[] {
  const names = [...new Set(results.map(({ name }) => name))]
  const noisy = noisyRowsAmong(results)
  const noisyNames = [...new Set(noisy.map((name) => `\`${name}\``))]
  return [
    '## Speed',
    '',
    'The contestants of a row take turns in one process, with the harness of `pnpm bench`. A time is the median of all rounds, and a ratio is the median of the',
    'ratios of the rounds, with their quartiles. Below 1, Tenon is faster. A rival that gives a wrong result is not measured.',
    '',
    `Noisy in this run are ${noisy.length} comparisons, whose quartiles are more than a factor of 1.5 apart: ${noisyNames.join(', ')}.`,
    '',
    ...plots.flatMap(({ name, title, left }) => [
      `![${title}](reports/${name}.svg)`,
      '',
      ...(left.length === 0
        ? []
        : [
            `Bars that are more than ten times as long as that of Tenon are left out, and are only in the tables: ${left.join(', ')}.`,
            '',
          ]),
    ]),
    ...names.flatMap((name) => [`### ${name}`, '', speedTable(results.filter((row) => row.name === name)), '']),
    '### Install size',
    '',
    'The files of a package and of all that it depends on, on this platform. `bun:ffi`, `Deno.dlopen` and `node:ffi` are parts of their runtimes.',
    '',
    sizesTable(sizes),
    '',
  ]
}

function behaviourSections({ findings }: Proof): string[] {
  const areas = [...new Set(lines.map(({ name }) => name.split('/')[0]!))]
  return [
    '## Behaviour',
    '',
    'Each cell is a process of its own. A line expects a right result, or an error and a next call that works.',
    '',
    markdownTable(
      ['verdict', 'meaning'],
      [
        ['right', 'the result is right'],
        ['error', 'an error with a message; the next call works where the line makes one'],
        ['unclear', 'an error whose message does not say what is wrong'],
        ['wrong', 'a wrong result without an error'],
        ['silent', 'no error where one was due'],
        ['crash', 'the process has ended'],
        ['hang', 'the process had to be killed'],
        ['–', 'the contestant does not offer what the line needs'],
      ],
    ),
    '',
    ...areas.flatMap((area) => {
      const ofArea = lines.filter(({ name }) => name.startsWith(`${area}/`))
      return [
        `### ${area}`,
        '',
        ...ofArea.map(
          ({ name, work, expected }) =>
            `- \`${name}\`: ${work} Expected: ${expected === 'error' ? 'an error' : 'a right result'}.`,
        ),
        '',
        findingsTable(findings.filter(({ line }) => line.startsWith(`${area}/`))),
        '',
        'What was seen:',
        '',
        ...ofArea.map(({ name }) => `- \`${name}\`: ${seenIn(findings.filter(({ line }) => line === name))}`),
        '',
      ]
    }),
  ]
}

/** Writes what was seen, contestants with the same words together. */
function seenIn(findings: readonly Finding[]): string {
  const names = new Map<string, string[]>()
  for (const { contestant, verdict, seen } of findings) {
    if (verdict === 'not offered') continue
    const words = shortened(seen)
    names.set(words, [...(names.get(words) ?? []), contestant])
  }
  return [...names].map(([words, own]) => `${own.join(', ')}: \`${words}\``).join('; ')
}

function shortened(text: string): string {
  const line = text
    .split(/\n| Hint: /)[0]!
    .replaceAll('`', "'")
    .trim()
  return line.length > MESSAGE ? `${line.slice(0, MESSAGE)}…` : line
}
