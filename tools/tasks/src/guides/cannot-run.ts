import { existsSync } from 'node:fs'

import type { SiteBlock } from './site-blocks.ts'

/** Why a block is not a program, or cannot run on this machine. @returns undefined for a block that runs */
export function whyNotRun({ language, code, file }: SiteBlock): string | undefined {
  if (file !== undefined) return undefined
  if (/^import .* from 'tenon.*'$/m.test(code) && /\bCuda\.open\(/.test(code) && !existsSync('/dev/nvidiactl'))
    return 'needs an NVIDIA GPU'
  if (/^\$ .* --watch$/m.test(code)) return 'waits until the reader changes a file'
  if (/^\$ .* --target all$/m.test(code)) return 'downloads zig (355 MB); pnpm test:cross compiles for these platforms'
  if (language === 'json') return 'shows a file, and is read as JSON'
  if (language !== 'text' && language !== '') return undefined
  if (/^docker |\bdocker compose /m.test(code)) return 'needs a Docker daemon'
  if (/^kubectl /m.test(code)) return 'needs a cluster of Kubernetes'
  if (/^import tritonclient/m.test(code)) return 'needs packages of PyPI; pnpm test:triton runs these clients'
  if (/^(?:npm install|pnpm add|yarn add) /m.test(code))
    return 'lists lines of several package managers, which pnpm release:rehearse runs'
  if (/^(?:npx pnpm@12|pnpm) /m.test(code)) return 'needs a checkout of the repository'
  return 'shows text or an output, and has no command'
}
