/** The parts of the build tool that other packages of this repository use, and the public entry. */
export * from './index.ts'
export { findPackageProblems, isAbsolute, isRange, type PackageRules } from './publish/check-package.ts'
export {
  inPublishOrder,
  installedWith,
  type Manifest,
  type NpmPackage,
  npmPackage,
  type PackageFile,
  readPackage,
} from './publish/npm-package.ts'
export { digestsPath, platformFields, sha256, writeLibraries } from './publish/platform-package.ts'
export { npm, publishedIntegrity, publishPackages, type PublishOptions } from './publish/publish-packages.ts'
export { type SharedTarget, type AddonTarget, isShipped } from './targets.ts'
export { runCommand, describeEnd, type CommandResult, type CommandOptions } from './run-command.ts'
export { sharedLibraryName } from './platform.ts'
export type { Binding } from './project/config.ts'
export { hasConfig, type KernelPackage, prebuiltPackage } from './project/load-project.ts'
export { findOtherMachine } from './checks/library.ts'
export { headersDirectory } from './project/headers.ts'
export { matches } from './names.ts'
export { type Compiler } from './compiler.ts'
export { findToolchain } from './toolchain.ts'
export { findSources } from './sources.ts'
export { withLock } from './build-lock.ts'
export { hashOf } from './stamps.ts'
export { type LoadedPackage } from './load-package.ts'
export { isBuiltFor } from './choose-targets.ts'
export { type NativeReport } from './run-tests.ts'
export { renderTable } from './abi/render-table.ts'
export type { AbiTables, NativeTarget } from './targets.ts'
export { didYouMean } from '@tenon/binary/internal'
