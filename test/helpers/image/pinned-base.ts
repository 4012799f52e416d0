/** A tag is what its registry says today, a digest one image for ever: what a release is built on. */

export const PINNED = /@sha256:[0-9a-f]{64}$/

export interface BaseChoice {
  readonly base?: string | undefined
  readonly release?: boolean | undefined
  readonly 'allow-tag'?: boolean | undefined
}

/** The fault of a release's base; undefined where it is no release, or where a tag was asked for. */
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
