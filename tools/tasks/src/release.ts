/**
 * The command `pnpm release DIRECTORY`, which publishes the tarballs of `pnpm release:pack`. It checks them again, skips versions that are
 * published with the same bytes, and publishes nothing if one is published with others. `--registry URL` is another registry, to which
 * packages are published without provenance. `published.txt` in the folder has a line `NAME@VERSION` for each package that is new, or for all
 * if none is, and `notes.md` says what changed in them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { publishPackages, runMain, ToolError } from '@tenon/build/internal'

import { withoutNpm } from './lib/run-tool.ts'
import { findReleaseFaults, readReleaseCheck } from './release/check-release.ts'
import { releaseNotes } from './release/release-notes.ts'
import { readReleasePackages } from './release/release-packages.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { registry: { type: 'string' } } })
  const [directory, ...more] = positionals
  if (directory === undefined || more.length > 0) throw new ToolError('pnpm release needs one folder of tarballs')
  const packages = await readReleasePackages([directory])
  // A registry of this machine is for trials.
  const isTrial = values.registry !== undefined
  const faults = findReleaseFaults(packages, { ...(await readReleaseCheck()), isTrial })
  if (faults.length > 0) throw new ToolError(`Nothing was published:\n  ${faults.join('\n  ')}`)
  const published = publishPackages(
    packages.map(({ path }) => path),
    { registry: values.registry, access: 'public', provenance: !isTrial, env: withoutNpm(process.env) },
    (line) => process.stdout.write(`${line}\n`),
  )
  // A run that has nothing left to publish makes the release that an earlier run did not come to.
  const isNew = ({ name, version }: (typeof packages)[number]): boolean => published.includes(`${name}@${version}`)
  const released = published.length > 0 ? packages.filter(isNew) : packages
  const lines = released.map(({ name, version }) => `${name}@${version}\n`)
  writeFileSync(join(directory, 'published.txt'), lines.join(''))
  writeFileSync(join(directory, 'notes.md'), releaseNotes(released))
})
