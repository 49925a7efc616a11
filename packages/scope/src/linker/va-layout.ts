/** The form of a `va_list` in memory. Source: the System V ABI for x86-64 (3.5.7), and AAPCS64 (appendix B). */
export type VaKind =
  /** 24 bytes: gp_offset, fp_offset, overflow_arg_area, reg_save_area. */
  | 'sysv-x64'
  /** 32 bytes: stack, gr_top, vr_top, gr_offs, vr_offs. */
  | 'aapcs64'
  /** A pointer to slots of 8 bytes: macOS on arm64, and Windows. */
  | 'slots'

export const vaKind: VaKind = kindOf(process.platform, process.arch)

function kindOf(platform: string, arch: string): VaKind {
  if (platform === 'win32') return 'slots'
  if (arch === 'x64') return 'sysv-x64'
  return platform === 'darwin' ? 'slots' : 'aapcs64'
}

/** The size of the list itself, in bytes. */
export const vaListSize: Readonly<Record<VaKind, number>> = { 'sysv-x64': 24, aapcs64: 32, slots: 8 }

/** The ends of the saved registers on x86-64, in bytes: six general ones, then eight vector ones of 16 bytes. */
export const GENERAL_END = 48
export const VECTOR_END = 176
