import { CONSTANTS } from '@tenon/core/internal'
import type { Abi } from './abi.ts'
import type { ImageLayout } from './layout.ts'

export const layoutCodes: Readonly<Record<ImageLayout, number>> = {
  tf: CONSTANTS.TN_TSTRING_TF,
  rfc16: CONSTANTS.TN_TSTRING_RFC16,
  rfc24: CONSTANTS.TN_TSTRING_RFC24,
  legacy: CONSTANTS.TN_TSTRING_LEGACY,
  tflite: CONSTANTS.TN_TSTRING_TFLITE,
  arrow32: CONSTANTS.TN_TSTRING_ARROW32,
  arrow64: CONSTANTS.TN_TSTRING_ARROW64,
}

export const abiCodes: Readonly<Record<Abi, number>> = {
  le64: CONSTANTS.TN_TSTRING_LE64,
  be64: CONSTANTS.TN_TSTRING_BE64,
  le32: CONSTANTS.TN_TSTRING_LE32,
  be32: CONSTANTS.TN_TSTRING_BE32,
}
