/** The answers of the fake of Gemini's API, chosen by the last words of the user. */

// biome-ignore lint/suspicious/noExplicitAny: requests have been verified, and are read without a type.
type Json = any

export interface Piece {
  readonly answer: Json
  /** Without a leading `data: `, as some errors come. */
  readonly isPlain?: boolean
}

type SignatureOf = (model: string, name: string) => string

const COUNTS = { promptTokenCount: 30, cachedContentTokenCount: 10 }
const OVERLOADED = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }

/** The same for each turn of a conversation would make ids that clients confuse. */
let turns = 0

export function answerOf(body: Json, path: string, signatureOf: SignatureOf): Piece[] {
  const model = path.replace(/^.*\//, '')
  const responseId = `fake${turns++}`
  const { generationConfig: config = {}, contents, tools, toolConfig } = body
  const parts: Json[] = contents.at(-1).parts
  const results = parts.filter((part) => part.functionResponse)
  const words = parts.map(({ text }) => text ?? '').join(' ')
  const say = (members: object): Piece => ({
    answer: { ...members, modelVersion: model, responseId },
  })
  const mode = toolConfig?.functionCallingConfig?.mode
  if (/block/.test(words)) {
    const usageMetadata = { promptTokenCount: 9, totalTokenCount: 9 }
    return [say({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata })]
  }
  if (/break/.test(words)) {
    const answer = { error: OVERLOADED }
    return [...spoken(['Well'], config, say, false), { answer, isPlain: /plainly/.test(words) }]
  }
  if (/confuse/.test(words)) {
    const candidates = [{ finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }]
    return [say({ candidates, usageMetadata: COUNTS })]
  }
  if (results.length > 0) {
    const read = results.map(({ functionResponse: { name, response } }) => {
      return `${name} says ${response.result ?? JSON.stringify(response)}`
    })
    return spoken([read.join(', '), '.'], config, say)
  }
  if (tools !== undefined && mode !== 'NONE') {
    const names = tools[0].functionDeclarations.map(({ name }: Json) => name)
    return called(words, names, say, (name) => signatureOf(model, name))
  }
  if (config.responseMimeType !== undefined) {
    const keys = Object.keys(config.responseJsonSchema?.properties ?? { any: {} })
    return spoken([JSON.stringify(Object.fromEntries(keys.map((key) => [key, 'x'])))], config, say)
  }
  return spoken([...seen(parts), 'Good ', 'day.'], config, say)
}

type Say = (members: object) => Piece

function seen(parts: readonly Json[]): string[] {
  return parts.flatMap(({ inlineData, fileData }) => {
    if (inlineData) return [`I see ${inlineData.mimeType} of ${inlineData.data.length}. `]
    return fileData ? [`I see ${fileData.fileUri}. `] : []
  })
}

function spoken(texts: readonly string[], config: Json, say: Say, ends = true): Piece[] {
  const { candidateCount = 1, thinkingConfig, responseLogprobs, maxOutputTokens } = config
  const isCut = maxOutputTokens !== undefined && maxOutputTokens < 5
  const thoughtsTokenCount = thinkingConfig === undefined ? 0 : 7
  const thoughts = thinkingConfig?.includeThoughts ? [{ text: 'Hm.', thought: true }] : []
  const chosenCandidates = [{ token: 'Good', tokenId: 1, logProbability: -0.25 }]
  return [...thoughts, ...texts.map((text) => ({ text }))].map((part, at, all) => {
    const isLast = at === all.length - 1 && ends
    const candidates = Array.from({ length: candidateCount }, (_, index) => ({
      content: { role: 'model', parts: [part] },
      index,
      ...(isLast && { finishReason: isCut ? 'MAX_TOKENS' : 'STOP' }),
      ...(isLast && responseLogprobs && { logprobsResult: { chosenCandidates } }),
    }))
    const candidatesTokenCount = at + 1
    const totalTokenCount = 30 + candidatesTokenCount + thoughtsTokenCount
    const counts = { ...COUNTS, candidatesTokenCount, thoughtsTokenCount, totalTokenCount }
    return say({ candidates, usageMetadata: counts })
  })
}

/** Calls the tools one by one, or all of them in one answer if the user says "all". */
function called(
  words: string,
  names: readonly string[],
  say: Say,
  signatureOf: (name: string) => string,
): Piece[] {
  const wanted = /\ball\b/.test(words) ? names : names.slice(0, 1)
  const parts = wanted.map((name, index) => ({
    functionCall: { name, args: { city: index === 0 ? 'Oslo' : 'Bergen' } },
    ...(index === 0 && { thoughtSignature: signatureOf(name) }),
  }))
  const usageMetadata = { ...COUNTS, candidatesTokenCount: 8, totalTokenCount: 38 }
  const content = { role: 'model', parts }
  const candidates = [{ content, finishReason: 'STOP', index: 0 }]
  return [say({ candidates, usageMetadata })]
}
