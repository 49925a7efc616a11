import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Podman } from './podman.ts'

const root = join(import.meta.dirname, '../../../..')

/** The image of deploy/Dockerfile with the packages of this checkout. */
export const IMAGE = 'localhost/tenon-serve'

/** The image of Debian on which it stands. */
export const BASE = 'localhost/tenon-base'

function execute(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status === 0) return
  const reason = error?.message ?? stderr.trim().split('\n').slice(-5).join('\n')
  throw new Error(`${program} ${args.slice(0, 3).join(' ')} ended with ${status}: ${reason}`)
}

/** Makes the image of Debian. Its files are kept in a folder for the next time. */
export async function makeBase(podman: Podman, cache: string): Promise<void> {
  const archive = join(cache, 'bookworm.tar')
  if (!existsSync(archive)) {
    mkdirSync(cache, { recursive: true })
    // libstdc++ is the only library of Node.js that the smallest system does not have.
    execute('mmdebstrap', ['--variant=minbase', '--include=libstdc++6', 'bookworm', `${archive}.new.tar`], cache)
    renameSync(`${archive}.new.tar`, archive)
  }
  await podman.run('import', archive, BASE)
}

/**
 * Makes the image of the server: deploy/Dockerfile, of which only the base and the installation are replaced. The packages are those of this
 * checkout, packed as for a release and installed by npm, which fetches those of others.
 */
export async function makeImage(podman: Podman, folder: string): Promise<void> {
  const [packed, app] = [join(folder, 'packed'), join(folder, 'context/app')]
  mkdirSync(packed, { recursive: true })
  mkdirSync(app, { recursive: true })
  const pack = join(root, 'tools/tasks/src/release-pack.ts')
  execute(process.execPath, ['--conditions=@tenon/source', pack, packed, '--here'], root)
  const tarballs = readdirSync(packed).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true }))
  const quiet = ['--omit=dev', '--no-audit', '--no-fund', '--install-links']
  execute('npm', ['install', ...quiet, ...tarballs.map((name) => join(packed, name))], app)
  rmSync(packed, { recursive: true })

  const context = dirname(app)
  copyFileSync(process.execPath, join(context, 'node'))
  writeFileSync(join(context, 'Dockerfile'), dockerfile())
  await podman.run('build', '--format=docker', '--network=none', '--tag', IMAGE, context)
}

/** deploy/Dockerfile with the base and the installation of this machine. @throws {Error} if it has other lines than expected. */
function dockerfile(): string {
  let text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')
  const replace = (pattern: RegExp, replacement: string): void => {
    if (!pattern.test(text)) throw new Error(`deploy/Dockerfile must have ${pattern}`)
    text = text.replace(pattern, replacement)
  }
  replace(/^FROM node:\S+ AS install$/m, `FROM ${BASE} AS install`)
  replace(/^RUN npm init .*$/m, 'COPY app /opt/tenon')
  replace(/^FROM node:\S+$/m, `FROM ${BASE}\nCOPY node /usr/local/bin/node`)
  return text
}
