/** A tag is what its registry says today, a digest one image for ever: what a release is built on. */

const PINNED = /@sha256:[0-9a-f]{64}$/

export interface BaseChoice {
  readonly base?: string | undefined
  readonly release?: boolean | undefined
  readonly 'allow-tag'?: boolean | undefined
}

/** What is wrong with the base of a release; nothing where it is no release, or a tag was asked for. */
export function baseFault({
  base,
  release,
  'allow-tag': allowsTag,
}: BaseChoice): string | undefined {
  if (release !== true || allowsTag === true || PINNED.test(base ?? '')) return undefined
  const named = base === undefined ? 'the base of the Dockerfile' : base
  return `a release is built on one image: ${named} has no digest. Give --base NAME@sha256:DIGEST, or --allow-tag.`
}
