/** Splits a request for vectors by its inputs. */
import type { ModelRequest } from '../wire/inner-form.ts'
import { inputTokens } from './count.ts'

/** Only lists of texts are split. */
export function piecesOf(request: ModelRequest, most: number): ModelRequest[] {
  if (request.operation !== 'embeddings') return [request]
  const { body, sparse } = request
  const texts = body.input as readonly string[]
  const pieces: ModelRequest[] = []
  for (let at = 0; at < texts.length; at += most) {
    const input = texts.slice(at, at + most)
    pieces.push({
      ...request,
      // No upstream has this wire, so none gets the client's bytes.
      wire: 'piece',
      body: { ...body, input },
      items: input.length,
      inputTokens: inputTokens(input, sparse),
    })
  }
  return pieces
}
