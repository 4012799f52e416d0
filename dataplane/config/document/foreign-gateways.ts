/** Recognises the configuration of another gateway, so that it gets one sentence instead of errors for each field. */
import { isRecord, listBelow, textOf, valueBelow } from '../../json/values.ts'
import { type Problem, problemAt, refuse } from '../judgement/problems.ts'
import { type DocumentResult, parseDocument } from './document.ts'

interface Gateway {
  readonly name: string
  /** Its name for `gw import`. */
  readonly source: string
  /** The first member of the document that only this gateway has; undefined: the document is not of it. */
  readonly memberIn: (tree: Readonly<Record<string, unknown>>) => string | undefined
}

const LITELLM = ['model_list', 'litellm_settings', 'router_settings', 'general_settings']
const ENVOY = /^aigateway\.envoyproxy\.io\//

const GATEWAYS: readonly Gateway[] = [
  {
    name: 'LiteLLM',
    source: 'litellm',
    memberIn: (tree) => LITELLM.find((member) => Object.hasOwn(tree, member)),
  },
  {
    name: 'agentgateway',
    source: 'agentgateway',
    memberIn(tree) {
      if (Array.isArray(tree.binds)) return 'binds'
      return listBelow(tree, 'llm', 'models').length > 0 ? 'llm' : undefined
    },
  },
  {
    name: 'Envoy AI Gateway',
    source: 'envoy-ai-gateway',
    memberIn: ({ apiVersion }) => (ENVOY.test(textOf(apiVersion) ?? '') ? 'apiVersion' : undefined),
  },
  {
    name: 'Bifrost',
    source: 'bifrost',
    memberIn({ $schema, providers }) {
      if (textOf($schema)?.includes('getbifrost') === true) return '$schema'
      const isOurs = !isRecord(providers) || !Object.values(providers).some(hasKeys)
      return isOurs ? undefined : 'providers'
    },
  },
  {
    name: 'Portkey',
    source: 'portkey',
    memberIn(tree) {
      if (textOf(valueBelow(tree, 'strategy', 'mode')) !== undefined) return 'strategy'
      if (Array.isArray(tree.targets)) return 'targets'
      if (Array.isArray(tree.integrations)) return 'integrations'
      const isTarget = ['api_key', 'override_params', 'virtual_key'].some((one) => one in tree)
      return isTarget && textOf(tree.provider) !== undefined ? 'provider' : undefined
    },
  },
]

function hasKeys(provider: unknown): boolean {
  return Array.isArray(valueBelow(provider, 'keys'))
}

/** Parses a configuration; a document of another gateway is one problem. */
export function parseConfiguration(text: string, file: string): DocumentResult {
  const result = parseDocument(text, file)
  const problem = foreignProblem(result, text, file)
  return problem === undefined ? result : { problems: [problem] }
}

function foreignProblem(
  { document }: DocumentResult,
  text: string,
  file: string,
): Problem | undefined {
  const tree = document?.tree
  // Resources of a cluster come as several documents.
  const separate = /^apiVersion: *["']?(aigateway\.envoyproxy\.io\/\S+)/m.exec(text)
  if (document === undefined) {
    if (separate === null) return undefined
    const line = text.slice(0, separate.index).split('\n').length
    return problemOf('Envoy AI Gateway', 'envoy-ai-gateway', { file, line, column: 1 })
  }
  if (!isRecord(tree) || 'gw' in tree || 'api_keys' in tree) return undefined
  for (const { name, source, memberIn } of GATEWAYS) {
    const member = memberIn(tree)
    if (member !== undefined)
      return problemOf(name, source, { file, ...document.positionOf([member], true) })
  }
  return undefined
}

function problemOf(
  name: string,
  source: string,
  place: { readonly file: string; readonly line: number; readonly column: number },
): Problem {
  const file = place.file === 'stdin' ? '-' : shellWord(place.file)
  const run = `gw import ${source} ${file}`
  const message = `This is ${/^[AEIOU]/i.test(name) ? 'an' : 'a'} ${name} configuration: run ${run}`
  const fix = `Run ${run} -o gw.yaml, and check that file.`
  return problemAt(refuse([], message, fix), { path: '', ...place })
}

function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
