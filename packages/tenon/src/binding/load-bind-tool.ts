import type * as bindTool from '@tenon/bind'
import { loadPeer } from '../cli/load-peer.ts'
import { UsageError } from '../cli/usage-error.ts'

/** The functions of `@tenon/bind` that the command uses. */
export type BindTool = typeof bindTool

/** Loads `@tenon/bind`. @param purpose the subject of the error @throws {UsageError} with the command that installs it */
export async function loadBindTool(purpose: string): Promise<BindTool> {
  const tool = await loadPeer('@tenon/bind')
  if (tool !== undefined) return tool as BindTool
  throw new UsageError(
    `${purpose} needs @tenon/bind, which is not installed`,
    'Install it: npm install --save-dev @tenon/bind',
  )
}
