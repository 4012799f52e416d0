/** Where usage is sent: settings that could not take effect. */
import { valueBelow } from '../../json/values.ts'
import { refuse } from '../judgement/problems.ts'
import { at, type Check, quoted } from './contract.ts'
import { repeated } from './duplicates.ts'
import { undeclaredTag } from './names.ts'

const OTLP = at('usage', 'sinks', 'otlp')

const recordsHaveACollector: Check = ({ usage }, { written }) => {
  const { otlp } = usage.sinks ?? {}
  // The parsed section lacks a refused address, so this reads the written document.
  if (otlp === undefined || valueBelow(written, ...OTLP, 'otlp_endpoint') !== undefined) return []
  if (valueBelow(written, 'gw', 'telemetry', 'otlp_endpoint') === undefined) {
    const message = 'cannot take effect: there is no otlp_endpoint, here or in telemetry'
    return [refuse(OTLP, message, 'Add otlp_endpoint:, or remove otlp.')]
  }
  if (otlp.otlp_headers === undefined) return []
  const message = 'cannot take effect: the collector of telemetry gets its own otlp_headers'
  const fix = 'Add otlp_endpoint: next to it, or write the headers in telemetry.'
  return [refuse([...OTLP, 'otlp_headers'], message, fix)]
}

const collectorIsABase: Check = ({ usage }) => {
  const url = URL.parse(usage.sinks?.otlp?.otlp_endpoint ?? '')
  if (url === null || (url.search === '' && url.hash === '')) return []
  const fix = 'Write only the base URL, such as http://host:4318, and credentials as otlp_headers.'
  return [refuse([...OTLP, 'otlp_endpoint'], 'holds a query or fragment', fix)]
}

const somewhereToSend: Check = ({ usage }) => {
  const { sinks } = usage
  if (sinks === undefined || Object.values(sinks).some((sink) => sink !== undefined)) return []
  const fix = 'Write file:, webhook: or otlp: below it, or remove it.'
  return [refuse(at('usage', 'sinks'), 'names no sink', fix)]
}

/** Without its declaration a tag is never counted, so every request would be refused. */
const requiredTagsAreDeclared: Check = ({ usage }, { suggestions }) => {
  const known = new Set(usage.tags)
  return usage.required_tags.flatMap((tag, index) =>
    undeclaredTag(tag, at('usage', 'required_tags', index), { known, suggestions }),
  )
}

/** Headers whose value may not be shown in reports, reaches upstreams, or has another meaning. */
const TAKEN = new Set([
  ...['authorization', 'proxy-authorization', 'api-key', 'x-api-key', 'cookie', 'x-gw-tags'],
  ...['anthropic-version', 'anthropic-beta', 'content-type', 'content-length', 'host'],
])

const tagHeadersSetTags: Check = ({ usage }, context) => {
  const { tags, tag_headers: headers } = usage
  const { suggestions } = context
  const known = new Set(tags)
  const [first] = headers
  if (first !== undefined && known.size === 0) {
    const message = 'cannot take effect: usage.tags declares no tag'
    return [refuse(at('usage', 'tag_headers'), message, 'Declare tags: usage: {tags: [team]}.')]
  }
  const named = headers.map(({ header }, index) => ({
    name: header.toLowerCase(),
    path: at('usage', 'tag_headers', index, 'header'),
  }))
  return [
    ...repeated(named, 'header of tags', context),
    ...named.flatMap(({ name, path }) =>
      TAKEN.has(name)
        ? [
            refuse(
              path,
              `${quoted(name)} has another purpose`,
              'Name a header that only sets tags.',
            ),
          ]
        : [],
    ),
    ...headers.flatMap(({ tag }, index) =>
      tag === undefined
        ? []
        : undeclaredTag(tag, at('usage', 'tag_headers', index, 'tag'), { known, suggestions }),
    ),
  ]
}

const endUsersHaveASink: Check = ({ usage }, { written }) => {
  const { end_user: shown, end_user_header: header } = usage
  if (shown === 'off') return []
  if (valueBelow(written, 'gw', 'usage', 'sinks') === undefined) {
    const message = 'cannot take effect: usage.sinks is absent, so there are no events'
    const fix = 'Write usage.sinks, or remove it: rows and metrics never have end users.'
    return [refuse(at('usage', 'end_user'), message, fix)]
  }
  if (header === undefined || !TAKEN.has(header.toLowerCase())) return []
  const message = `${quoted(header)} has another purpose, and events would have its value`
  const fix = 'Name a header that only names users, such as X-Gw-User.'
  return [refuse(at('usage', 'end_user_header'), message, fix)]
}

export const usageChecks = [
  recordsHaveACollector,
  collectorIsABase,
  somewhereToSend,
  requiredTagsAreDeclared,
  tagHeadersSetTags,
  endUsersHaveASink,
]
