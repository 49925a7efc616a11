import { resolve } from 'node:path'
import { formatSignature } from '@tenon/core'
import { describeKernel, listOperations, readRegistrations, type ListedOperation } from '@tenon/tensorflow/internal'
import { Library } from '../library.ts'
import { readSidecar } from '../signatures/sidecar.ts'
import { alignColumns, printable, type Style } from './terminal.ts'

/** An operation as JSON. */
export interface OperationReport {
  readonly name: string
  readonly convention: 'tensorflow'
  readonly source: string
  readonly signature: string | undefined
  readonly reason: string | undefined
  /** The devices, labels, priorities and constraints of its kernels. */
  readonly kernels: readonly string[]
}

/** Loads a library, and lists the operations of which it registers kernels in TensorFlow's C API. @throws {LoadError} */
export function operationsOf(path: string): OperationReport[] {
  const { definitions } = readSidecar(path)
  const library = Library.open(resolve(path))
  try {
    const sidecarOf = (name: string) => definitions.find((one) => one.name === name)?.definition
    return listOperations(readRegistrations(library.native), sidecarOf).map(reportOf)
  } finally {
    library.close()
  }
}

const reportOf = ({ name, signature, reason, kernels }: ListedOperation): OperationReport => ({
  name,
  convention: 'tensorflow',
  source: signature?.source ?? 'none',
  signature: signature && formatSignature(signature),
  reason,
  kernels: kernels.map(describeKernel),
})

/** The lines about the operations: their signatures, the kernels of each, and why it cannot be called. */
export function operationLines(operations: readonly OperationReport[], style: Style): string[] {
  if (operations.length === 0) return []
  const rows = operations.flatMap(
    ({ name, convention, source, signature, reason, kernels: [first = '', ...others] }) => [
      [name, convention, source, signature ?? `(${reason})`, first],
      ...others.map((kernel) => ['', '', '', '', kernel]),
      ...(signature === undefined || reason === undefined ? [] : [['', '', '', `cannot be called: ${reason}`, '']]),
    ],
  )
  const lines = alignColumns(
    rows.map((row) => row.map((cell) => printable(cell).replaceAll(/[\n\t]/g, ' '))),
    '  ',
  )
  return ['', style.strong(`TensorFlow kernels (${operations.length})`), ...lines]
}
