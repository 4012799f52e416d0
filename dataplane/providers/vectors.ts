/** Checks the vectors of an answer against the request. */

import { base64Length } from '../json/vectors.ts'
import type { EmbeddingsRequest } from '../wire/inner-form.ts'
import type { Failure } from '../wire/provider.ts'
import { malformed, unlikeAsked } from './failures/classify.ts'

type VectorsRequest = Pick<EmbeddingsRequest, 'items' | 'dimensions'>

/** Missing vectors, or vectors of another length, would silently damage an index. */
export function faultOf(
  vectors: readonly unknown[],
  { items, dimensions }: VectorsRequest,
): Failure | undefined {
  if (vectors.length !== items) {
    return malformed(`The upstream answered with ${vectors.length} embeddings to ${items} inputs.`)
  }
  let length = dimensions
  for (const vector of vectors) {
    const own = lengthOf(vector)
    if (own === undefined) return malformed("The upstream's answer has no valid vectors.")
    length ??= own
    if (own !== length) return differing(own, length, dimensions)
  }
  return undefined
}

/** The numbers of a list or of base64; undefined if the value is not a vector. */
function lengthOf(vector: unknown): number | undefined {
  const length = typeof vector === 'string' ? base64Length(vector) : numbersOf(vector)?.length
  return length === 0 ? undefined : length
}

function numbersOf(vector: unknown): readonly number[] | undefined {
  const isVector = Array.isArray(vector) && vector.every((number) => typeof number === 'number')
  return isVector ? vector : undefined
}

function differing(length: number, expected: number, asked: number | undefined): Failure {
  const found = `The upstream answered with vectors of ${length} numbers`
  return asked === undefined
    ? malformed(`${found} beside others of ${expected}.`)
    : unlikeAsked(`${found}; ${asked} dimensions were asked for.`)
}
