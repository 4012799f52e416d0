/** What Gemini's API refuses. */
import { refusalBy } from '../../vendors/refusal.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests are looked at without a type.
type Json = any

const LOST = 'skip_thought_signature_validator'
export class Refused extends Error {
  readonly status: number
  readonly body: unknown

  constructor(status: number, body: unknown) {
    super(JSON.stringify(body))
    this.status = status
    this.body = body
  }

  static as(status: number, word: string, message: string, ...details: object[]): Refused {
    const more = details.length > 0 ? { details } : {}
    return new Refused(status, { error: { code: status, message, status: word, ...more } })
  }
}

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw Refused.as(400, 'INVALID_ARGUMENT', message)
}

function knows(value: Json, names: readonly string[], place: string): void {
  for (const name of Object.keys(value ?? {})) {
    demand(names.includes(name), `Unknown name "${name}" at '${place}': Cannot find field.`)
  }
}

export function verify(body: Json, model: string, signatureOf: SignatureOf): void {
  const path = `/models/${model.replace(/^.*\//, '')}:generateContent`
  const refused = refusalBy('gemini', { path, body })
  if (refused !== undefined) throw new Refused(refused.status, refused.body)
  verifySignatures(body.contents, model.replace(/^.*\//, ''), signatureOf)
}

type SignatureOf = (model: string, name: string) => string

/** The first call of a turn is signed if the model is new, by the model itself. */
function verifySignatures(
  contents: readonly Json[],
  model: string,
  signatureOf: SignatureOf,
): void {
  for (const { parts } of contents) {
    const first = parts.find((part: Json) => part.functionCall)
    if (first?.thoughtSignature === undefined || first.thoughtSignature === LOST) continue
    const isOwn = first.thoughtSignature === signatureOf(model, first.functionCall.name)
    demand(isOwn, 'Thought signature is not valid.')
  }
}

/** Vectors whose first number is the length of their text. */
export function vectorsOf(action: string, body: Json): Json {
  if (action === 'predict') {
    knows(body, ['instances', 'parameters'], 'request')
    const { outputDimensionality: length } = body.parameters
    const predictions = body.instances.map(({ content }: Json) => ({
      embeddings: {
        values: vectorOf(content, length),
        statistics: { truncated: false, token_count: content.length },
      },
    }))
    return { predictions }
  }
  knows(body, ['requests'], 'request')
  const embeddings = body.requests.map(({ model, content, outputDimensionality }: Json) => {
    demand(/^models\//.test(model), 'unexpected model name format')
    return { values: vectorOf(content.parts[0].text, outputDimensionality) }
  })
  return { embeddings }
}

function vectorOf(text: string, length = 3): number[] {
  return Array.from({ length }, (_, index) => (index === 0 ? text.length : 0.5))
}
