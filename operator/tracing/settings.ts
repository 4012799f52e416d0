/** The destination of the operator's spans, from its option and the variables of OpenTelemetry. */

type Environment = Readonly<Record<string, string | undefined>>

export interface TracingSettings {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
}

/** Undefined: no collector. Throws a TypeError with the mistake. */
export function tracingSettings(
  option: string | undefined,
  env: Environment,
): TracingSettings | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS = '' } = env
  const endpoint = option || OTEL_EXPORTER_OTLP_ENDPOINT
  if (!endpoint) return undefined
  const name = option ? '--otlp-endpoint' : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(`${name} is "${endpoint}"; it must be a URL such as http://collector:4318`)
  if (url.search !== '' || url.hash !== '' || url.username !== '')
    throw new TypeError(
      `${name} must be only a base URL; put credentials into OTEL_EXPORTER_OTLP_HEADERS`,
    )
  return { endpoint, headers: headersIn(OTEL_EXPORTER_OTLP_HEADERS) }
}

const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/

/** `name=value,name=value`, values percent-encoded. An error contains no value, because values are credentials. */
function headersIn(text: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',').filter((one) => one.trim() !== '')) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    const value = decoded(pair.slice(at + 1).trim())
    if (at === -1 || !NAME.test(name) || value === undefined)
      throw new TypeError(
        'OTEL_EXPORTER_OTLP_HEADERS must be name=value,name=value with percent-encoded values',
      )
    headers[name.toLowerCase()] = value
  }
  return headers
}

function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text)
    return /^[\t\x20-\x7e]*$/.test(value) ? value : undefined
  } catch {
    return undefined
  }
}
