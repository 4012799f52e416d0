/** What Gemini's API refuses. */

// biome-ignore lint/suspicious/noExplicitAny: requests are looked at without a type.
type Json = any

const LOST = 'skip_thought_signature_validator'
const MEMBERS = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'serviceTier',
]
const CONFIG = [
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'responseMimeType',
  'responseJsonSchema',
  'thinkingConfig',
]
const PARTS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse']

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
  knows(body, MEMBERS, 'request')
  const { contents, systemInstruction, tools, toolConfig, generationConfig: config } = body
  demand(Array.isArray(contents) && contents.length > 0, 'contents is not specified')
  for (const content of contents) verifyContent(content)
  knows(systemInstruction, ['parts', 'role'], 'system_instruction')
  verifyCalls(contents, model.replace(/^.*\//, ''), signatureOf)
  verifyTools(tools, toolConfig)
  verifyConfig(config)
}

function verifyContent({ role, parts, ...rest }: Json): void {
  knows(rest, [], 'contents')
  demand(role === 'user' || role === 'model', `Please use a valid role: user, model.`)
  demand(parts.length > 0, 'Unable to submit request because it has an empty parts field.')
  for (const { thoughtSignature, ...part } of parts) {
    demand(thoughtSignature === undefined || typeof thoughtSignature === 'string', 'signature')
    knows(part, PARTS, 'contents.parts')
    demand(Object.keys(part).length === 1, 'A part must have one data field.')
    demand(part.inlineData === undefined || part.inlineData.mimeType !== undefined, 'mimeType')
    const object = part.functionCall?.args ?? part.functionResponse?.response ?? {}
    demand(typeof object === 'object' && !Array.isArray(object), 'It must be an object.')
  }
}

type SignatureOf = (model: string, name: string) => string

/** Each call is answered at once, and of the newer models' calls the first is signed. */
function verifyCalls(contents: readonly Json[], model: string, signatureOf: SignatureOf): void {
  for (const [index, { parts }] of contents.entries()) {
    const calls = parts.filter((part: Json) => part.functionCall)
    if (calls.length === 0) continue
    const answers = (contents[index + 1]?.parts ?? []).filter((part: Json) => part.functionResponse)
    const names = (list: Json[]) =>
      list.map((part) => (part.functionCall ?? part.functionResponse).name).join()
    demand(
      names(calls) === names(answers),
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    )
    const { thoughtSignature, functionCall } = calls[0]
    if (thoughtSignature === undefined) {
      demand(!/^gemini-3/.test(model), 'Function call is missing a thought_signature.')
    } else if (thoughtSignature !== LOST) {
      const isOwn = thoughtSignature === signatureOf(model, functionCall.name)
      demand(isOwn, 'Thought signature is not valid.')
    }
  }
}

function verifyTools(tools: Json, toolConfig: Json): void {
  knows(toolConfig, ['functionCallingConfig'], 'tool_config')
  const { mode, allowedFunctionNames } = toolConfig?.functionCallingConfig ?? {}
  const modes = [undefined, 'AUTO', 'ANY', 'NONE', 'VALIDATED']
  demand(modes.includes(mode), `Invalid value at 'mode'`)
  demand(
    allowedFunctionNames === undefined || mode === 'ANY' || mode === 'VALIDATED',
    'Function calling config is set without mode ANY or VALIDATED.',
  )
  for (const tool of tools ?? []) {
    knows(tool, ['functionDeclarations'], 'tools')
    for (const { name, ...rest } of tool.functionDeclarations) {
      demand(/^[a-zA-Z_][\w.:-]{0,63}$/.test(name), 'Invalid function name.')
      knows(rest, ['description', 'parametersJsonSchema'], 'function_declarations')
    }
  }
}

function verifyConfig(config: Json = {}): void {
  knows(config, CONFIG, 'generation_config')
  const { stopSequences, candidateCount, temperature, thinkingConfig, ...rest } = config
  demand((stopSequences?.length ?? 0) <= 5, 'stop_sequences must have at most 5 values.')
  demand((candidateCount ?? 1) <= 8, 'candidateCount must be between 1 and 8.')
  demand((temperature ?? 1) <= 2, 'temperature must be in the range [0.0, 2.0].')
  knows(thinkingConfig, ['includeThoughts', 'thinkingBudget', 'thinkingLevel'], 'thinking_config')
  const { thinkingBudget, thinkingLevel } = thinkingConfig ?? {}
  demand(
    thinkingBudget === undefined || thinkingLevel === undefined,
    'You can only set only one of thinking budget and thinking level.',
  )
  demand(rest.logprobs === undefined || rest.responseLogprobs === true, 'Logprobs is not enabled.')
  demand(
    rest.responseJsonSchema === undefined || rest.responseMimeType === 'application/json',
    'Function calling with a response mime type is unsupported.',
  )
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
