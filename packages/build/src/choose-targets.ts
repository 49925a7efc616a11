import { languageOf } from './compiler.ts'
import { findNvcc, MissingNvccError } from './cuda.ts'
import type { LoadedPackage } from './load-package.ts'
import type { Platform } from './platform.ts'
import { isShipped, type NativeTarget, type Variant } from './targets.ts'

/** What targets are chosen for. */
export interface Choice {
  readonly variant: Variant
  readonly kinds: readonly NativeTarget['kind'][]
  readonly platform: Platform
  readonly portable: boolean
  /** Whether a portable release contains the fixtures and tests as well. */
  readonly forTests?: boolean
  readonly onWarning?: (message: string) => void
}

/** Returns the targets of a package that are built. Those that are optional are left out with a warning if they need nvcc. */
export async function chooseTargets(pkg: LoadedPackage, choice: Choice): Promise<NativeTarget[]> {
  const { variant, kinds, platform, portable, forTests = false, onWarning = printWarning } = choice
  const targets = pkg.native.targets.filter(
    (target) =>
      kinds.includes(target.kind) &&
      isBuiltFor(target, platform) &&
      (!portable || variant !== 'release' || forTests || isReleased(target)),
  )
  const optional = targets.filter((target) => target.optional && isCuda(target))
  const reason =
    optional.length === 0 ? undefined : portable ? 'CUDA is not built for other platforms' : await lackOfNvcc()
  if (reason === undefined) return targets
  for (const { name } of optional) onWarning(`${name} was left out: ${reason}`)
  return targets.filter((target) => !optional.includes(target))
}

/** Whether a target has a build for a platform. A DLL cannot leave symbols undefined. */
export function isBuiltFor(target: NativeTarget, platform: Platform): boolean {
  const { systems, libc } = target
  const fits = libc === undefined || platform.libc === undefined || libc === platform.libc
  const isOpen = target.kind === 'shared' && (target.unresolved ?? []).length > 0
  return fits && systems?.includes(platform.os) !== false && !(isOpen && platform.os === 'win32')
}

/** Whether a release for other machines contains a target. */
function isReleased(target: NativeTarget): boolean {
  return isShipped(target) && !target.fixture
}

function isCuda({ sources }: NativeTarget): boolean {
  return sources.some((source) => languageOf(source) === 'cuda')
}

async function lackOfNvcc(): Promise<string | undefined> {
  try {
    await findNvcc()
    return undefined
  } catch (error) {
    if (error instanceof MissingNvccError) return error.message.split('\n')[0]!
    throw error
  }
}

function printWarning(message: string): void {
  process.stderr.write(`${message}\n`)
}
