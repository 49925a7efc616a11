/** Writes the pages of the site to `dist/pages/`, from the Markdown files of the repository. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path/posix'
import { root } from './link-target.ts'
import { ERRORS, sections, type Page } from './pages.ts'

/** The folder that VitePress reads. */
export const staged: string = join(import.meta.dirname, '../dist/pages')

/** One page for each error code, and their list. */
export function errorPages(): readonly Page[] {
  return readdirSync(join(root, ERRORS))
    .filter((file) => file.endsWith('.md'))
    .map((file) => {
      const name = file === 'README.md' ? 'index' : basename(file, '.md')
      return { source: `${ERRORS}/${file}`, address: `errors/${name}`, title: name }
    })
}

/** All pages whose text is in the repository. */
export const allPages = (): readonly Page[] => [...sections.flatMap(({ pages }) => pages), ...errorPages()]

/** Writes all pages anew. The reference is left as it is. */
export function stagePages(): void {
  for (const entry of ['guides', 'packages', 'errors', 'images', 'public']) {
    rmSync(join(staged, entry), { recursive: true, force: true })
  }
  for (const { source, address } of allPages()) {
    const file = join(staged, `${address}.md`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, withImages(readFileSync(join(root, source), 'utf8'), source))
  }
  writeFileSync(join(staged, 'index.md'), firstPage())
}

/** Copies the images of a page, whose paths are relative to its file, to the site. */
function withImages(text: string, source: string): string {
  return text
    .replaceAll(/!\[([^\]]*)\]\(([^):]+)\)/g, (_, alt: string, path: string) => `![${alt}](${copyImage(path, source)})`)
    .replaceAll(
      /\b(src|srcset)="([^":]+\.svg)"/g,
      (_, name: string, path: string) => `${name}="${copyImage(path, source)}"`,
    )
}

/** Copies an image of a page to the site. @returns its address there. */
function copyImage(path: string, source: string): string {
  const from = join(dirname(source), path)
  const name = from.replaceAll('/', '-')
  mkdirSync(join(staged, 'public/images'), { recursive: true })
  copyFileSync(join(root, from), join(staged, 'public/images', name))
  return `/images/${name}`
}

/** The parts of README.md that show what Tenon is, below the head of the first page. */
function firstPage(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const shown = withImages(between(readme, '<picture>', '## Try it here'), 'README.md')
  const compared = between(readme, '## Why not raw FFI', '## The packages')
  return `---\n${head}---\n\n## A kernel, and its call\n\n${shown}\n${compared}`
}

function between(text: string, from: string, to: string): string {
  const [start, end] = [text.indexOf(from), text.indexOf(to)]
  if (start === -1 || end < start)
    throw new Error(`README.md must have ${JSON.stringify(from)} before ${JSON.stringify(to)}`)
  return text.slice(start, end)
}

const head = `layout: home
title: Tenon
titleTemplate: The joint between TypeScript and native kernels
hero:
  name: Tenon
  text: The joint between TypeScript and native kernels
  tagline: Node.js calls machine-learning kernels that were compiled for XLA or TVM. No addon, no copies, no dangling memory.
  actions:
    - { theme: brand, text: A first kernel, link: /guides/first-kernel }
    - { theme: alt, text: Reference, link: /reference/ }
features:
  - { title: Unchanged kernels, details: "XLA custom calls and TVM packed functions run as they were compiled, and string tensors are those of TensorFlow.", link: /packages/custom-call }
  - { title: Memory cannot dangle, details: "Everything native has an owner. Use after the end is an error, never a crash.", link: /guides/memory }
  - { title: A crash is an error, details: "With one word, kernels run in processes of their own.", link: /guides/isolation }
  - { title: From one process to a cluster, details: "Kernels answer the Open Inference Protocol of KServe and Triton.", link: /packages/serve }
`
