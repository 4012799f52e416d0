/** Extracts the texts of a request with their paths, and replaces them. */
import { rewritten } from '../body/rewritten.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import type { Said } from './contract.ts'
import type { Path } from './forms/form.ts'
import { INNER_FORMS } from './forms/index.ts'

export interface PlacedText extends Said {
  /** In the body of the request. */
  readonly path: Path
}

/** All texts that a model reads, by the form of the operation. */
export function textsOf(request: ModelRequest): PlacedText[] {
  const found: PlacedText[] = []
  const seen = {
    role: 'user',
    text(text: string, path: Path, isFixed = false) {
      found.push({ role: seen.role, text, path: [...path], ...(isFixed && { isFixed }) })
    },
    // The request was refused before if this matters.
    refuse: () => undefined,
  }
  INNER_FORMS[request.operation](request.body, [], seen)
  return found
}

/** Whether some of its texts are token numbers, which cannot be read here. */
export function holdsTokens({ operation, body }: ModelRequest): boolean {
  if (operation !== 'completions' && operation !== 'embeddings') return false
  const inputs = operation === 'completions' ? body.prompt : body.input
  return Array.isArray(inputs) && typeof inputs[0] !== 'string'
}

/** The same request with the texts at these paths replaced; it is rewritten for every upstream. */
export function withTexts<Request extends ModelRequest>(
  request: Request,
  places: readonly PlacedText[],
  texts: readonly string[],
): Request {
  const isChanged = ({ text, isFixed }: PlacedText, at: number) =>
    isFixed !== true && (texts[at] ?? text) !== text
  if (!places.some(isChanged)) return request
  const body = { ...request.body } as Container
  const own = new Set<unknown>()
  for (const [at, place] of places.entries())
    if (isChanged(place, at)) put(texts[at] ?? place.text, place.path, body, own)
  return rewritten(request, body as unknown as Request['body'])
}

type Container = Record<string | number, unknown>

/** Copies what it changes, each list and object once: a request may hold tens of thousands of texts. */
function put(text: string, path: Path, body: Container, own: Set<unknown>): void {
  let place = body
  for (const step of path.slice(0, -1)) {
    const below = place[step]
    const copy = own.has(below) ? below : Array.isArray(below) ? [...below] : { ...Object(below) }
    own.add(copy)
    place[step] = copy
    place = copy as Container
  }
  place[path.at(-1) ?? ''] = text
}
