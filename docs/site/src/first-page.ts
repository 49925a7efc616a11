/** The first page of the site. Its example and its texts are those of README.md, docs/limits.md and the report of the benchmarks. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path/posix'
import { root } from './link-target.ts'

/** Returns the Markdown of the first page, whose links are relative to the root of the repository. */
export function firstPage(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const introduction = between(readme, '# Tenon\n', '<picture>').replace('# Tenon\n', '')
  return `---
layout: page
title: Tenon
titleTemplate: TypeScript and native kernels
sidebar: false
---

<div class="vp-doc first-page">
<div class="first-head">

# Call native kernels from TypeScript

${introduction}
<div class="first-links">

[A first kernel](docs/first-kernel.md) [Bind a C library](docs/bind.md) [How it works](docs/architecture.md)

</div>
</div>
<div class="first-example">
<div class="first-c">

${blockOf(readme, 'c')}

</div>
<div class="first-picture">

${between(readme, '<picture>', '\n\nA kernel states')}

</div>
<div class="first-ts">

${blockOf(readme, 'ts')}

</div>
<div class="first-output">

${blockOf(readme, 'sh')}

${blockOf(readme, 'console')}

</div>
</div>

## What do you want to do?

${jobs}

${between(readme, '## Who it is for', '## A crash of a kernel')}
## What it costs

${costs()}

## What it does not do

${limits()}

[What Tenon does not do](docs/limits.md) has all limits, and the pages that say more.

${between(readme, '## Why not raw FFI', '## The packages')}
</div>
`
}

/** The jobs for which people come, each with the page that does it. */
const jobs = `| job | guide |
| --- | --- |
| Write a kernel in C and call it | [A first kernel](docs/first-kernel.md) |
| Call the functions of a C header | [Bind a C library](docs/bind.md) |
| Survive a crash of native code | [Isolation](docs/isolation.md) |
| Find the line of a crash | [Debug a crash](docs/debug-crash.md) |
| Share memory with workers and other programs | [Sharing memory](docs/sharing-memory.md) |
| Answer requests over HTTP and gRPC | [Serving kernels](docs/serving.md) |
| Publish kernels as an npm package | [From a C file to a package](docs/authoring.md) |
| Ship one executable file | [One file to ship](docs/one-file.md) |`

/** Returns the first block of a language, with its fences. */
function blockOf(text: string, language: string): string {
  const [block] = new RegExp(`^\`\`\`${language}\\b.*?^\`\`\`$`, 'ms').exec(text) ?? []
  if (block === undefined) throw new Error(`README.md must have a block ${language}`)
  return block
}

function between(text: string, from: string, to: string): string {
  const [start, end] = [text.indexOf(from), text.indexOf(to)]
  if (start === -1 || end < start)
    throw new Error(`README.md must have ${JSON.stringify(from)} before ${JSON.stringify(to)}`)
  return text.slice(start, end)
}

interface Report {
  readonly date: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly load: number }
  readonly versions: { readonly node: string }
  readonly results: readonly {
    readonly name: string
    readonly ours: number
    readonly peers: Readonly<Record<string, number>>
  }[]
}

const REPORT = 'docs/reports/bench.json'

/** Rows of the report, and their names on the page. */
const COSTS: Readonly<Record<string, string>> = {
  'pass integers of 64 bits, 1 of them': 'a C function with one integer',
  'sum of all words of 1 KiB': 'a kernel that reads 1 KiB',
  'sum of all words of 1 MiB': 'a kernel that reads 1 MiB',
}

/** Returns the table of what calls cost. @throws {Error} if the report lacks a row. */
function costs(): string {
  const { results, date, machine, versions } = JSON.parse(readFileSync(join(root, REPORT), 'utf8')) as Report
  const rows = Object.entries(COSTS).map(([name, words]) => {
    const row = results.find((result) => result.name === name)
    if (row === undefined) throw new Error(`${REPORT} must have the row ${JSON.stringify(name)}`)
    const peers = ['koffi', 'Node-API addon', 'Tenon, isolated worker'].map((peer) => row.peers[peer])
    return `| ${[words, ...[row.ours, ...peers].map((time) => (time === undefined ? '' : shortTime(time)))].join(' | ')} |`
  })
  return `| one call | Tenon | koffi | addon in C | isolated worker |
| --- | ---: | ---: | ---: | ---: |
${rows.join('\n')}

Measured on ${date.slice(0, 10)} with Node.js ${versions.node} on ${machine.cores} processors (${machine.cpu}), on which ${machine.load.toFixed(1)} other
processes ran on average. [Benchmarks](docs/benchmarks.md) has the plots, and what they cannot show, and [Proof](docs/proof.md)
compares more than time. This command of a checkout measures them again:

\`\`\`sh
npx pnpm@12 bench --plots --report docs/reports
\`\`\``
}

/** Writes a number of nanoseconds with its unit. */
const shortTime = (nanoseconds: number): string =>
  nanoseconds < 1000 ? `${nanoseconds.toFixed(0)} ns` : `${(nanoseconds / 1000).toFixed(1)} µs`

/** The sections of the page about limits that concern every reader. */
const FOR_ALL = ['Platforms', 'GPUs', 'Safety', 'Speed']

/** Returns the sentences in bold of these sections as a list. */
function limits(): string {
  const page = readFileSync(join(root, 'docs/limits.md'), 'utf8')
  const chosen = page.split(/^## /m).filter((section) => FOR_ALL.some((title) => section.startsWith(`${title}\n`)))
  const sentences = [...chosen.join('').matchAll(/^- \*\*([^*]+\.)\*\*/gm)].map(([, sentence]) => `- ${sentence}`)
  if (sentences.length < 4) throw new Error('docs/limits.md must have at least four sentences in bold')
  return sentences.join('\n')
}
