/** The whole configuration as YAML: canonical, with defaults, without credentials. */
import { Document, isNode } from 'yaml'
import { PROVIDER_FACTS } from '../../providers/index.ts'
import { FIRST_CONTENT_SECONDS } from '../../schema/constants.ts'
import type { RouteSection, UpstreamSection } from '../../schema/index.ts'
import type { Loaded } from '../apart/loaded.ts'
import { mapStrings } from '../document/tree.ts'
import { effectiveSection } from './effective.ts'
import { attemptsMax } from './explain-attempts.ts'
import { shownText } from './masking.ts'

/** What `printResolved` prints, as a value. */
export function resolvedDocument(loaded: Loaded): unknown {
  const { configuration, ownKeys, referenceAt, delivered } = loaded
  if (configuration === undefined) throw new Error('a refused configuration cannot be shown')
  // The keys of api_keys_file stay in their file, which is still named.
  const section = effectiveSection(configuration.gw, delivered === undefined ? 'file' : 'pod')
  const gw = { ...section, api_keys: section.api_keys.slice(0, ownKeys) }
  return mapStrings({ ...configuration, gw }, (value, path) =>
    path[0] === 'gw' ? shownText(value, path, referenceAt(path)) : value,
  )
}

/** Readers of YAML 1.1, kubectl among them, must not take the text "yes" for true. */
const OUTPUT = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const

/** Loads again to the same configuration, except for literals that had to be masked. */
export function printResolved(loaded: Loaded): string {
  const document = new Document(resolvedDocument(loaded), OUTPUT)
  const { upstreams = [], routes = [] } = loaded.configuration?.gw ?? {}
  const address = document.getIn(['gw', 'gateway', 'listen_address'], true)
  if (isNode(address) && loaded.delivered === undefined) address.comment = LISTENING
  comment(document, 'upstreams', upstreams.map(ofUpstream))
  comment(
    document,
    'routes',
    routes.map((route) => ofRoute(route, routes)),
  )
  return document.toString(OUTPUT)
}

const LISTENING = ' 127.0.0.1 stand-alone; all addresses in a pod'

/** Before each entry of the list, the defaults that would mean something else if they were written. */
function comment(document: Document, list: string, lines: readonly (readonly string[])[]): void {
  for (const [index, said] of lines.entries()) {
    const entry = document.getIn(['gw', list, index], true)
    if (said.length > 0 && isNode(entry))
      entry.commentBefore = said.map((line) => ` ${line}`).join('\n')
  }
}

function ofUpstream(upstream: UpstreamSection): string[] {
  const { timeout_seconds, endpoint, pool, provider } = upstream
  const { defaultEndpoint } = PROVIDER_FACTS[provider]
  // A default from other settings may contain the value of a reference.
  const usual = typeof defaultEndpoint === 'string' ? `${defaultEndpoint}, that` : 'that'
  return [
    // Written, it would hold for both kinds of answer.
    ...(timeout_seconds === undefined
      ? [
          `timeout_seconds: ${FIRST_CONTENT_SECONDS} for a stream; other answers have the whole timeout of the request`,
        ]
      : []),
    // Written, it would be an address of yours, which gets the headers of traces.
    ...(endpoint === undefined && pool === undefined && defaultEndpoint !== undefined
      ? [`endpoint: ${usual} of ${provider}`]
      : []),
  ]
}

function ofRoute(route: RouteSection, routes: readonly RouteSection[]): string[] {
  const { timeout_seconds, retry } = route
  const attempts = attemptsMax(route, routes)
  const each = attempts === 1 ? 'a failure is not repeated' : 'each upstream once'
  return [
    ...(timeout_seconds === undefined
      ? ['timeout_seconds: that of gateway.request_timeout_seconds']
      : []),
    // Written, a failed upstream would be asked again.
    ...(retry?.max_attempts === undefined ? [`attempts: ${attempts}, ${each}`] : []),
  ]
}
