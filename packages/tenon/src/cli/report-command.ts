import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { constants as system } from 'node:os'
import { resolve } from 'node:path'
import {
  type CrashedCall,
  type CrashFile,
  describeFrame,
  frameOfFault,
  hex,
  locateFrames,
  MOST_REPORT_BYTES,
  NULL_PAGE,
  parseCrashFile,
  placeOfFrame,
} from '@tenon/core/internal'
import type { Definition } from './definition.ts'
import { InputError } from './input-error.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'

const args = {
  file: { type: 'positional', description: 'the file that the crash has written' },
  directory: {
    type: 'string',
    valueHint: 'path',
    description: 'a directory with the libraries of the process, or their debug files, found by build ID',
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon report`, which prints a crash with functions and lines. */
export const reportCommand: SubCommand = defineSubCommand({
  meta: { name: 'report', description: 'Print the report of a crash with functions and lines' },
  args,
  run({ file, directory, json }) {
    const crash = parseCrashFile(readReport(file))
    const directories = directory === undefined ? [] : [resolve(directory)]
    const frames = locateFrames(crash.frames, crash.modules, { directories })
    const at = frameOfFault(frames)
    const sentence = `${crash.signal}${describeAddress(crash)}${at === undefined ? '' : ` in ${placeOfFrame(at)}`}`
    const { address, modules: _, frames: __, ...rest } = crash
    if (json) {
      const document = { sentence, ...rest, ...(address === undefined ? {} : { address: hex(address) }), frames }
      return printData(JSON.stringify(document, undefined, 2))
    }
    const { versions, process, threadId, thread, exception, call } = crash
    const lines = [
      sentence,
      ...frames.map((frame) => `  at ${describeFrame(frame)}`),
      ...(call === undefined ? [] : describeCall(call)),
      ...(exception === '' ? [] : [`  after an exception was thrown: ${exception}`]),
      `process ${process}, ${thread} (${threadId}), ${new Date(crash.time * 1000).toISOString()}`,
      `tenon ${versions.tenon}, node ${versions.node}, ${versions.platform}-${versions.arch}`,
    ]
    printData(lines.join('\n'))
  },
})

function describeCall({ kernel, convention, types, stack }: CrashedCall): readonly string[] {
  return [`in ${kernel}(${types.join(', ')}), convention ${convention}`, ...stack.map((line) => `  called at ${line}`)]
}

function describeAddress({ address, access, stackOverflow }: CrashFile): string {
  if (stackOverflow) return ' because its stack is full'
  if (address === undefined) return ''
  const verb = { read: 'reading', write: 'writing', call: 'calling' }[access] ?? 'accessing'
  const isNull = address > 0n && address < NULL_PAGE
  return ` ${verb} at address ${hex(address)}${isNull ? `, a null pointer + ${address}` : ''}`
}

/** Reads a regular file of at most the size of reports. A pipe would wait for ever. */
function readReport(path: string): string {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).errno ?? 0
    const reason = -code === system.errno.ENOENT ? 'there is no such file' : (cause as Error).message
    throw new InputError(`the report ${path} cannot be read: ${reason}`, 'Pass the path that the crash has printed.')
  }
  try {
    if (!fstatSync(descriptor).isFile())
      throw new InputError(`the report ${path} is not a file`, 'Pass the path that the crash has printed.')
    const bytes = Buffer.alloc(MOST_REPORT_BYTES + 1)
    let length = 0
    for (let count; (count = readSync(descriptor, bytes, length, bytes.length - length, null)) > 0;) length += count
    if (length > MOST_REPORT_BYTES)
      throw new InputError(
        `the report ${path} must have at most ${MOST_REPORT_BYTES} bytes`,
        'Reports of crashes are small.',
      )
    return bytes.toString('utf8', 0, length)
  } finally {
    closeSync(descriptor)
  }
}
