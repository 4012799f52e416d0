/** `${env:NAME}`, `${file:PATH}` and `${secret:NAME/KEY}` inside a text. */

import { ownReference } from './foreign-references.ts'

export type ReferenceKind = 'env' | 'file' | 'secret'

export interface Reference {
  readonly kind: ReferenceKind
  /** Name of the variable, path of the file, or NAME/KEY of the secret. */
  readonly target: string
  /** As written, with the dollar sign and braces. */
  readonly text: string
}

export type Piece =
  | { readonly literal: string }
  | { readonly reference: Reference }
  | { readonly malformed: string; readonly fix: string }

const TARGETS: Record<ReferenceKind, { pattern: RegExp; rule: string }> = {
  env: {
    pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
    rule: 'Write ${env:NAME} with letters, digits and _ in the name.',
  },
  file: {
    pattern: /^[^\s{}$][^{}$\n]*$/,
    rule: 'Write ${file:PATH} with the path of a file.',
  },
  secret: {
    // A part may not begin with a dot: it becomes a path, and ".." would leave the folder.
    pattern: /^[A-Za-z0-9][A-Za-z0-9.-]*\/[A-Za-z0-9_-][A-Za-z0-9._-]*$/,
    rule: 'Write ${secret:NAME/KEY}: the name of the secret, a slash, and the key in it.',
  },
}

const ANY_REFERENCE = 'Write ${env:NAME}, ${file:PATH} or ${secret:NAME/KEY}.'

export function splitReferences(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (let open = text.indexOf('${'); open !== -1; open = text.indexOf('${', from)) {
    if (open > from) pieces.push({ literal: text.slice(from, open) })
    const close = text.indexOf('}', open)
    if (close === -1) {
      const malformed = text.slice(open)
      return [...pieces, { malformed, fix: 'Close the reference with "}".' }]
    }
    pieces.push(readReference(text.slice(open, close + 1)))
    from = close + 1
  }
  if (from < text.length) pieces.push({ literal: text.slice(from) })
  return pieces
}

function readReference(text: string): Piece {
  const body = text.slice(2, -1)
  const colon = body.indexOf(':')
  const kind = body.slice(0, Math.max(0, colon))
  const target = body.slice(colon + 1)
  if (kind !== 'env' && kind !== 'file' && kind !== 'secret') {
    const own = ownReference(text)
    const fix = own === undefined ? ANY_REFERENCE : `Write ${own}.`
    return { malformed: text, fix }
  }
  const { pattern, rule } = TARGETS[kind]
  return pattern.test(target)
    ? { reference: { kind, target, text } }
    : { malformed: text, fix: rule }
}

/** Whether the text is one reference and nothing else, as credentials must be. */
export function isReference(text: string): boolean {
  const pieces = splitReferences(text)
  return pieces.length === 1 && pieces[0] !== undefined && 'reference' in pieces[0]
}

/** Flux takes a reference for a variable that it does not know, and leaves an empty text. */
export const EMPTIED_FIX =
  'Write a value. Did Flux substitute it? Annotate the resource kustomize.toolkit.fluxcd.io/substitute: disabled, ' +
  'or write $${...} for ${...}.'
