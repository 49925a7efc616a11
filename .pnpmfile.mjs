/** The `node-<platform>-<arch>` packages publish `os` and `cpu` as strings, which pnpm ignores: make them arrays. */
function readPackage(pkg) {
  if (/^node-(linux|win|darwin)-/.test(pkg.name ?? '')) {
    for (const key of ['os', 'cpu']) if (typeof pkg[key] === 'string') pkg[key] = [pkg[key]]
  }
  return pkg
}

export const hooks = { readPackage }
