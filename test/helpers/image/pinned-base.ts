/** A tag may change in its registry, a digest never: a release needs one. */

export const PINNED = /@sha256:[0-9a-f]{64}$/

export interface BaseChoice {
  readonly base?: string | undefined
  readonly release?: boolean | undefined
  readonly 'allow-tag'?: boolean | undefined
}

/** The fault of a release's base; undefined if it is not a release, or a tag is allowed. */
export function baseFault({
  base,
  release,
  'allow-tag': allowsTag,
}: BaseChoice): string | undefined {
  // The Dockerfile's own has a digest.
  const isPinned = base === undefined || PINNED.test(base)
  if (release !== true || allowsTag === true || isPinned) return undefined
  return `a release is built on one image: ${base} has no digest. Give --base NAME@sha256:DIGEST, or --allow-tag.`
}
