/** Node's names for processors, by the format's processor numbers. */
export type MachineTable = Readonly<Record<number, string>>

/** The values of e_machine in the System V ABI, for 32-bit and 64-bit files. */
export const elfMachines: MachineTable = {
  3: 'ia32',
  8: 'mips',
  20: 'ppc',
  21: 'ppc64',
  22: 's390',
  40: 'arm',
  62: 'x64',
  183: 'arm64',
  243: 'riscv32',
  258: 'loong64',
}

export const elfMachines64: MachineTable = { ...elfMachines, 22: 's390x', 243: 'riscv64' }

/** The values of cputype in Mach-O. */
export const machOMachines: MachineTable = {
  0x7: 'ia32',
  0x1000007: 'x64',
  0xc: 'arm',
  0x100000c: 'arm64',
  0x12: 'ppc',
  0x1000012: 'ppc64',
}

/** The values of IMAGE_FILE_MACHINE_* in PE. */
export const peMachines: MachineTable = { 0x14c: 'ia32', 0x8664: 'x64', 0x1c4: 'arm', 0xaa64: 'arm64' }

export function machineName(table: MachineTable, machine: number): string {
  return table[machine] ?? `unknown (machine 0x${machine.toString(16)})`
}
