/**
 * The command `pnpm release DIRECTORY`, which publishes the tarballs of `pnpm release:pack`. It checks them again, skips versions that are
 * published with the same bytes, and publishes nothing if one is published with others. `--registry URL` is another registry, to which
 * packages are published without provenance. `published.txt` in the folder has a line `NAME@VERSION` for each package that is new, or for all
 * if none is, and `notes.md` says what changed in them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { loadPackage, runMain, ToolError } from '@tenon/build'

import { releasedPlatforms } from './lib/platforms.ts'
import { readProject } from './lib/project.ts'
import { root } from './lib/root.ts'
import { findReleaseFaults } from './release/check-release.ts'
import { npmRegistry, npmUrl } from './release/npm-registry.ts'
import { publishOrder, publishRelease } from './release/publish.ts'
import { releaseNotes } from './release/release-notes.ts'
import { readTarballs } from './release/release-tarballs.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { registry: { type: 'string' } } })
  const [directory, ...more] = positionals
  if (directory === undefined || more.length > 0) throw new ToolError('pnpm release needs one folder of tarballs')
  const tarballs = readTarballs(directory)
  const { native } = await loadPackage(join(root, 'packages/core'))
  const platforms = releasedPlatforms().map(({ name }) => name)
  // A registry of this machine is for trials.
  const check = { project: readProject(), native, platforms, isTrial: values.registry !== undefined }
  const faults = findReleaseFaults(
    tarballs.map((tarball) => tarball.package),
    check,
  )
  if (faults.length > 0) throw new ToolError(`Nothing was published:\n  ${faults.join('\n  ')}`)
  const registry = npmRegistry(values.registry ?? npmUrl, values.registry === undefined)
  const published = await publishRelease(tarballs, registry, (line) => process.stdout.write(`${line}\n`))
  // A run that has nothing left to publish makes the release that an earlier run did not come to.
  const released = (published.length > 0 ? published : publishOrder(tarballs)).map((tarball) => tarball.package)
  const lines = released.map(({ name, version }) => `${name}@${version}\n`)
  writeFileSync(join(directory, 'published.txt'), lines.join(''))
  writeFileSync(join(directory, 'notes.md'), releaseNotes(released))
})
