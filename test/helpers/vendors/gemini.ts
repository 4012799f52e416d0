/** Gemini: contents of parts, with signatures of thoughts. */
import { type Checker, type Complaints, entries, isObject, type Json } from './rules/contract.ts'
import { checkTexts } from './rules/operations.ts'
import { eachSchema } from './rules/schema.ts'

const MEMBERS =
  'contents systemInstruction tools toolConfig generationConfig safetySettings serviceTier cachedContent labels store'
const CONFIG =
  'temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty responseLogprobs logprobs responseMimeType responseJsonSchema responseSchema thinkingConfig responseModalities speechConfig mediaResolution imageConfig enableEnhancedCivicAnswers'
const DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
]
const NAME = /^[a-zA-Z_][\w.:-]{0,63}$/

export const gemini: Checker = ({ path, body }, c) => {
  if (path.endsWith(':batchEmbedContents')) {
    c.knows(body, 'requests', 'body')
    const texts = entries(body.requests).map(([, one]) => one.content.parts[0].text)
    checkTexts(texts, 100, 'requests', c)
    for (const [index, one] of entries(body.requests))
      c.knows(one, 'model content taskType title outputDimensionality', `requests[${index}]`)
  }
  const [, model = ''] = /models\/([^/:]+):(?:streamG|g)enerateContent/.exec(path) ?? []
  if (model === '') return
  c.knows(body, MEMBERS, 'request')
  c.demand(entries(body.contents).length > 0, 'contents', 'contents', 'contents is not specified')
  for (const [index, content] of entries(body.contents))
    checkContent(content, `contents[${index}]`, c)
  checkTurns(body.contents, model, c)
  if (body.systemInstruction !== undefined) {
    c.knows(body.systemInstruction, 'parts role', 'systemInstruction')
    c.demand(
      entries(body.systemInstruction.parts).length > 0,
      'no-parts',
      'systemInstruction',
      'no parts',
    )
  }
  checkTools(body, c)
  checkConfig(body.generationConfig, model, c)
}

function checkContent({ role, parts, ...rest }: Json, at: string, c: Complaints): void {
  c.knows(rest, '', at)
  c.demand(role === 'user' || role === 'model', 'role', at, 'Please use a valid role: user, model.')
  c.demand(entries(parts).length > 0, 'no-parts', at, 'It must include at least one parts field.')
  for (const [index, part] of entries(parts)) {
    const place = `${at}.parts[${index}]`
    c.knows(part, `${DATA.join(' ')} thought thoughtSignature videoMetadata`, place)
    const data = DATA.filter((name) => name in part)
    c.demand(data.length === 1, 'part-data', place, `One data field, not ${data.join()}.`)
    const { functionCall, functionResponse, inlineData } = part
    const object = functionCall?.args ?? functionResponse?.response ?? {}
    c.demand(isObject(object), 'object', place, 'It must be an object.')
    if (functionResponse !== undefined) {
      c.demand(isObject(functionResponse.response), 'object', place, 'response must be there.')
      if (hasRef(functionResponse.response)) c.add('ref-in-result', place, 'A reference "$ref".')
    }
    const name = functionCall?.name ?? functionResponse?.name
    if (name !== undefined) c.demand(NAME.test(name), 'call-name', place, `Invalid name "${name}".`)
    if (inlineData !== undefined) c.demand(!!inlineData.mimeType, 'mime', place, 'mimeType')
  }
}

function hasRef(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false
  return '$ref' in value || Object.values(value).some(hasRef)
}

function checkTurns(contents: Json, model: string, c: Complaints): void {
  const list = entries(contents).map(([, content]) => content)
  const last = list.at(-1)
  c.demand(last?.role === 'user', 'last-role', 'contents', 'The last turn is of the user.')
  const ids = new Set<string>()
  for (const [index, { role, parts = [] }] of list.entries()) {
    const at = `contents[${index}]`
    c.demand(list[index - 1]?.role !== role, 'alternation', at, `${role} follows ${role}`)
    const calls = parts.filter((part: Json) => part.functionCall)
    const answers = parts.filter((part: Json) => part.functionResponse)
    const before = (list[index - 1]?.parts ?? []).filter((part: Json) => part.functionCall)
    const names = (some: Json[]) =>
      some.map((one) => (one.functionCall ?? one.functionResponse).name)
    const [asked, given] = [names(before).toSorted().join(), names(answers).toSorted().join()]
    c.demand(asked === given, 'call-unanswered', at, `Calls ${asked}, responses ${given}.`)
    for (const { functionCall } of calls)
      if (functionCall.id !== undefined) {
        c.demand(!ids.has(functionCall.id), 'call-id-twice', at, `The id ${functionCall.id}.`)
        ids.add(functionCall.id)
      }
    const isSigned = calls.length === 0 || !!calls[0].thoughtSignature
    if (/^gemini-[3-9]/.test(model))
      c.demand(isSigned, 'signature', at, 'missing a thought_signature')
  }
}

function checkTools({ tools, toolConfig }: Json, c: Complaints): void {
  const declared: string[] = []
  for (const [index, tool] of entries(tools)) {
    for (const [place, one] of entries(tool.functionDeclarations)) {
      const at = `tools[${index}].functionDeclarations[${place}]`
      c.knows(
        one,
        'name description parametersJsonSchema parameters response responseJsonSchema behavior',
        at,
      )
      c.demand(NAME.test(one.name), 'tool-name', at, `Invalid name "${one.name}".`)
      declared.push(one.name)
      if (one.parametersJsonSchema !== undefined)
        c.demand(isObject(one.parametersJsonSchema), 'schema-type', at, 'A schema is an object.')
      eachSchema(one.parameters, at, (schema, where) => {
        for (const word of ['additionalProperties', '$schema', '$ref', '$defs', 'const'])
          if (word in schema) c.add(`schema-keyword ${word}`, where, `Unknown name "${word}".`)
      })
    }
  }
  c.demand(
    new Set(declared).size === declared.length,
    'tool-twice',
    'tools',
    'Duplicate declaration.',
  )
  const { mode, allowedFunctionNames: allowed } = toolConfig?.functionCallingConfig ?? {}
  c.demand(
    allowed === undefined || mode === 'ANY' || mode === 'VALIDATED',
    'choice',
    'toolConfig',
    'mode',
  )
  for (const name of allowed ?? []) c.demand(declared.includes(name), 'choice', 'toolConfig', name)
}

function checkConfig(config: Json, model: string, c: Complaints): void {
  if (config === undefined) return
  c.knows(config, CONFIG, 'generationConfig')
  c.demand(entries(config.stopSequences).length <= 5, 'stop', 'stopSequences', 'at most 5')
  c.range(config.temperature, [0, 2], 'temperature')
  c.range(config.candidateCount, [1, 8], 'candidateCount')
  const { thinkingBudget, thinkingLevel } = config.thinkingConfig ?? {}
  const both = thinkingBudget !== undefined && thinkingLevel !== undefined
  c.demand(!both, 'thinking', 'thinkingConfig', 'Only one of budget and level.')
  const isEarly = /^gemini-[12]/.test(model)
  if (thinkingLevel !== undefined) c.demand(!isEarly, 'thinking', 'thinkingConfig', 'no level')
  const isSure =
    config.responseJsonSchema === undefined || config.responseMimeType === 'application/json'
  c.demand(isSure, 'mime', 'responseMimeType', 'It must be application/json.')
}
