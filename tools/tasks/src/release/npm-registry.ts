import { ToolError } from '@tenon/build'

import { runVisibly } from '../lib/run-tool.ts'
import { withoutNpm } from '../rehearse/package-managers.ts'
import type { ReleaseRegistry } from './publish.ts'

/** The address of npm's registry. */
export const npmUrl = 'https://registry.npmjs.org'

/**
 * A registry that is asked over HTTP, and to which the npm of this machine publishes. npm asks the person at the terminal for what it
 * needs, and in GitHub Actions it signs in as the workflow.
 *
 * @param provenance whether npm states which workflow built the packages, which it can only there
 */
export function npmRegistry(url: string, provenance: boolean): ReleaseRegistry {
  const flags = [`--registry=${url}`]
  const npm = async (args: readonly string[]): Promise<void> => {
    const code = await runVisibly('npm', [...args, ...flags], { env: withoutNpm(process.env) })
    if (code !== 0) throw new ToolError(`npm ${args.join(' ')} ended with exit code ${code}`)
  }
  return {
    async integrityOf(name, version) {
      const response = await fetch(`${url.replace(/\/$/, '')}/${name.replace('/', '%2f')}/${version}`)
      if (response.status === 404) return undefined
      if (!response.ok) throw new ToolError(`${url} answered ${response.status} for ${name}@${version}`)
      const { dist } = (await response.json()) as { dist?: { integrity?: string } }
      return dist?.integrity ?? 'no digest'
    },
    publish: (path, tag) => npm(['publish', path, `--tag=${tag}`, '--access=public', `--provenance=${provenance}`]),
    deprecate: (name, version, message) => npm(['deprecate', `${name}@${version}`, message]),
  }
}
