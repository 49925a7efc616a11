import { closeDescriptor } from './descriptor.ts'

/** The memory of a pool as it is passed on: a descriptor between processes, or memory between threads of one process. */
export type Attachment = number | SharedArrayBuffer

export function closeAttachment(attachment: Attachment): void {
  if (typeof attachment === 'number') closeDescriptor(attachment)
}
