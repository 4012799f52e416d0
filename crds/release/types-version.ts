/** The version of the types: that of the last release that changed them, so that different types never share one. */
import { createHash } from 'node:crypto'
import type { Tree } from '../../dataplane/config/document/tree.ts'

/** `released.json`: hashes of the types by release, oldest first. */
export type Released = Readonly<Record<string, string>>

/** The hash covers what the API server stores and refuses, not the descriptions. */
export function hashOfTypes(definitions: readonly Tree[]): string {
  const specs = definitions.map(({ spec }) => spec)
  const text = JSON.stringify(specs, (name, value) =>
    name === 'description' && typeof value === 'string' ? undefined : value,
  )
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Unreleased types may change freely. A release without changes has the version of the previous one, so that it can be
 * rolled back.
 */
export function versionOfTypes(version: string, hash: string, released: Released): string {
  const known = released[version]
  if (known !== undefined && known !== hash) {
    throw new Error(
      `the types differ from those released with ${version}; raise the version in package.json`,
    )
  }
  const earlier = Object.entries(released).reverse()
  const changed = earlier.findIndex(([, other]) => other !== hash)
  const same = changed === -1 ? earlier : earlier.slice(0, changed)
  return same.at(-1)?.[0] ?? version
}
