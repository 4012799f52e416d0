/** Bedrock's Converse: blocks with one member each, with the refusals of its families of models. */
import { checkCalls, type Step } from './rules/calls.ts'
import { checkClaude } from './rules/claude.ts'
import { type Checker, type Complaints, entries, isObject, type Json } from './rules/contract.ts'
import { checkClosedSchema, checkTyped } from './rules/schema.ts'

const MEMBERS =
  'messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields additionalModelResponseFieldPaths promptVariables requestMetadata performanceConfig serviceTier outputConfig'
const BLOCKS =
  'text image document video audio toolUse toolResult reasoningContent cachePoint guardContent citationsContent searchResult'
const ID = /^[a-zA-Z0-9_-]{1,64}$/
const NAME = /^[a-zA-Z0-9_-]{1,64}$/

export const bedrock: Checker = ({ path, body }, c) => {
  const [, encoded = ''] = /\/model\/([^/]+)\/converse/.exec(path) ?? []
  if (encoded === '') return
  c.knows(body, MEMBERS, 'body')
  const steps = entries(body.messages).map(([index, message]) => stepOf(message, index, c))
  c.demand(steps.length > 0, 'messages', 'messages', 'at least one message')
  checkCalls(steps, { id: ID, name: NAME }, c)
  const roles = entries(body.messages).map(([, { role }]) => role)
  for (const [index, role] of roles.entries())
    c.demand(
      role !== roles[index - 1],
      'alternation',
      `messages.${index}`,
      `${role} follows ${role}`,
    )
  c.demand(
    roles[0] === 'user',
    'first-role',
    'messages',
    'A conversation starts with a user message.',
  )
  for (const [index, block] of entries(body.system)) checkBlock(block, `system.${index}`, c)
  checkTools(body, steps, c)
  checkPoints(body, decodeURIComponent(encoded), c)
  c.knows(body.inferenceConfig, 'maxTokens temperature topP stopSequences', 'inferenceConfig')
  for (const [name, value] of Object.entries(body.requestMetadata ?? {}))
    c.demand(name.length <= 256 && String(value).length <= 256, 'long metadata', name, 'too long')
  const model = decodeURIComponent(encoded)
  if (model.includes('claude')) checkClaudeFields(body, model, c)
}

function checkPoints(body: Json, model: string, c: Complaints): void {
  const points = JSON.stringify(body).split('"cachePoint":{').length - 1
  c.demand(points <= 4, 'cache-marks', 'body', `${points} cache points; at most 4.`)
  const tools = entries(body.toolConfig?.tools)
  if (!model.includes('claude'))
    for (const [index, { cachePoint }] of tools)
      c.demand(cachePoint === undefined, 'cache-mark', `tools.${index}`, 'No cachePoint here.')
}

function stepOf({ role, content, ...rest }: Json, index: number, c: Complaints): Step {
  const at = `messages.${index}`
  c.knows(rest, '', at)
  const blocks: Json[] = entries(content).map(([, block]) => block)
  c.demand(blocks.length > 0, 'no-content', at, 'The content field is empty.')
  for (const [place, block] of blocks.entries()) checkBlock(block, `${at}.content.${place}`, c)
  const calls = blocks.flatMap(({ toolUse }) => (toolUse === undefined ? [] : [toolUse]))
  const results = blocks.flatMap(({ toolResult }) => (toolResult === undefined ? [] : [toolResult]))
  if (role === 'user') c.demand(calls.length === 0, 'role', at, 'toolUse of the user')
  return {
    at,
    calls: calls.map(({ toolUseId, name }) => ({ id: toolUseId, name })),
    results: results.map(({ toolUseId }) => ({ id: toolUseId })),
  }
}

function checkBlock(block: Json, at: string, c: Complaints): void {
  const names = Object.keys(block)
  c.demand(names.length === 1, 'block-members', at, `One member, not ${names.join()}.`)
  for (const name of names)
    c.demand(BLOCKS.split(' ').includes(name), 'block-type', at, `Unknown block "${name}".`)
  if ('text' in block) c.text(block.text, at)
  const { toolUse, toolResult, reasoningContent } = block
  if (toolUse !== undefined)
    c.demand(isObject(toolUse.input), 'input', at, 'input must be an object.')
  for (const [index, part] of entries(toolResult?.content)) {
    const place = `${at}.content.${index}`
    if ('text' in part) c.text(part.text, place)
    if ('json' in part) c.demand(isObject(part.json), 'result-json', place, 'an object alone')
  }
  if (toolResult !== undefined)
    c.demand(entries(toolResult.content).length > 0, 'result-empty', at, 'content must be there.')
  const { reasoningText } = reasoningContent ?? {}
  if (reasoningText !== undefined)
    c.demand(typeof reasoningText.text === 'string', 'thinking', at, 'text must be there.')
}

function checkTools({ toolConfig }: Json, steps: readonly Step[], c: Complaints): void {
  const used = steps.some(({ calls, results }) => calls.length + results.length > 0)
  c.demand(!used || toolConfig !== undefined, 'tool-config', 'toolConfig', 'It must be defined.')
  if (toolConfig === undefined) return
  const tools = entries(toolConfig.tools)
  c.demand(tools.length > 0, 'tools-empty', 'toolConfig', 'tools is empty.')
  for (const [index, { toolSpec, cachePoint }] of tools) {
    const at = `toolConfig.tools.${index}`
    if (cachePoint !== undefined) continue
    c.demand(NAME.test(toolSpec.name), 'tool-name', at, `Invalid name "${toolSpec.name}".`)
    if (toolSpec.description !== undefined) c.text(toolSpec.description, at)
    checkTyped(toolSpec.inputSchema.json, at, c)
  }
}

function checkClaudeFields(body: Json, model: string, c: Complaints): void {
  const { inferenceConfig = {}, additionalModelRequestFields: fields = {}, toolConfig } = body
  const { any, tool } = toolConfig?.toolChoice ?? {}
  const choice = any === undefined && tool === undefined ? undefined : { type: 'any' }
  const messages = entries(body.messages).map(([, { role, content }]) => ({
    role,
    content: content.map((block: Json) => ({
      type:
        block.toolResult !== undefined
          ? 'tool_result'
          : block.reasoningContent !== undefined
            ? 'thinking'
            : Object.keys(block)[0],
    })),
  }))
  const { maxTokens, temperature, topP } = inferenceConfig
  const schema = body.outputConfig?.textFormat?.structure?.jsonSchema?.schema
  if (schema !== undefined) checkClosedSchema(JSON.parse(schema), 'outputConfig', c)
  const sampling = { temperature, top_p: topP }
  checkClaude(
    { ...fields, ...sampling, max_tokens: maxTokens, tool_choice: choice, messages },
    model,
    c,
  )
  for (const [index, { content }] of entries(body.messages))
    for (const { reasoningContent } of content)
      if (reasoningContent?.reasoningText !== undefined)
        c.demand(
          !!reasoningContent.reasoningText.signature,
          'unsigned',
          `messages.${index}`,
          'signature',
        )
}
