// Runs before `pnpm pack` and `pnpm publish` of the core: its libraries are loaded only if it has their digests, which a release adds.
process.stderr.write(
  '@tenon/core cannot be packed alone, because it would not load its libraries without their digests.\n' +
    'Run pnpm release:pack DIRECTORY in the root of the repository; --here packs it for this machine.\n',
)
process.exitCode = 1
