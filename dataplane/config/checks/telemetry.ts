/** Settings for a collector that could not take effect. */
import { valueBelow } from '../../json/values.ts'
import { type Section, type Signal, TELEMETRY_DEFAULTS } from '../../schema/index.ts'
import { refuse } from '../judgement/problems.ts'
import { at, type Check } from './contract.ts'

type Telemetry = Section['telemetry']

/** Settings of a collector, which have no effect on the ring of decision traces. */
const OF_COLLECTORS = [
  'otlp_headers',
  'otlp_timeout_ms',
  'otlp_signals',
  'otlp_protocol',
  'otlp_compression',
  'otlp_metrics_seconds',
  'sample_ratio',
  'slow_ms',
  'service_name',
] as const

/** Settings of one signal. */
const OF_SIGNALS = [
  ['sample_ratio', 'traces'],
  ['slow_ms', 'traces'],
  ['otlp_metrics_seconds', 'metrics'],
] as const

const collectorIsThere: Check = ({ telemetry }, { written }) => {
  // The parsed section lacks a refused address, so this reads the written document.
  if (valueBelow(written, 'gw', 'telemetry', 'otlp_endpoint') !== undefined) return []
  return OF_COLLECTORS.filter((field) => isChanged(telemetry, field)).map((field) => {
    const fix = `Add otlp_endpoint:, or remove ${field}.`
    return refuse(at('telemetry', field), 'cannot take effect: there is no otlp_endpoint', fix)
  })
}

const collectorIsABase: Check = ({ telemetry: { otlp_endpoint } }) => {
  const url = otlp_endpoint === undefined ? null : URL.parse(otlp_endpoint)
  if (url === null || (url.search === '' && url.hash === '')) return []
  const fix = 'Write only the base URL, such as http://host:4318, and credentials as otlp_headers.'
  return [refuse(at('telemetry', 'otlp_endpoint'), 'holds a query or fragment', fix)]
}

const signalsAreUsed: Check = ({ telemetry, usage }) => {
  const { otlp_endpoint, otlp_signals } = telemetry
  if (otlp_endpoint === undefined) return []
  const path = at('telemetry', 'otlp_signals')
  const twice = otlp_signals.findIndex((signal, index) => otlp_signals.indexOf(signal) < index)
  if (twice !== -1)
    return [
      refuse([...path, twice], `names ${otlp_signals[twice]} twice`, 'Remove one of the two.'),
    ]
  const { otlp } = usage.sinks ?? {}
  const isOfUsage = otlp !== undefined && otlp.otlp_endpoint === undefined
  if (otlp_signals.length === 0 && !isOfUsage) {
    const fix = 'Name traces, metrics or logs, or remove otlp_endpoint.'
    return [refuse(path, 'is empty, so the collector would get nothing', fix)]
  }
  return OF_SIGNALS.filter(
    ([field, signal]) => isChanged(telemetry, field) && !otlp_signals.includes(signal),
  ).map(([field, signal]) => lacking(field, signal))
}

function lacking(field: keyof Telemetry, signal: Signal) {
  const fix = `Add ${signal} to otlp_signals:, or remove ${field}.`
  return refuse(at('telemetry', field), `cannot take effect: otlp_signals has no ${signal}`, fix)
}

/** A resolved document contains every default, and must stay valid. */
function isChanged(telemetry: Telemetry, field: keyof Telemetry): boolean {
  return JSON.stringify(telemetry[field]) !== JSON.stringify(TELEMETRY_DEFAULTS[field])
}

export const telemetryChecks = [collectorIsThere, collectorIsABase, signalsAreUsed]
