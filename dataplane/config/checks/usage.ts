/** Where usage is sent: settings that could not take effect. */
import { valueBelow } from '../../json/values.ts'
import { refuse } from '../judgement/problems.ts'
import { at, type Check } from './contract.ts'

const OTLP = at('usage', 'sinks', 'otlp')

const recordsHaveACollector: Check = ({ usage }, { written }) => {
  const { otlp } = usage.sinks ?? {}
  // A refused address is missing in the parsed section, so the written document is read.
  if (otlp === undefined || valueBelow(written, ...OTLP, 'otlp_endpoint') !== undefined) return []
  if (valueBelow(written, 'gw', 'telemetry', 'otlp_endpoint') === undefined) {
    const message = 'cannot take effect: there is no otlp_endpoint, here or in telemetry'
    return [refuse(OTLP, message, 'Add otlp_endpoint:, or remove otlp.')]
  }
  if (otlp.otlp_headers === undefined) return []
  const message = 'cannot take effect: the collector of telemetry is sent its otlp_headers'
  const fix = 'Add otlp_endpoint: beside it, or write the headers in telemetry.'
  return [refuse([...OTLP, 'otlp_headers'], message, fix)]
}

const collectorIsABase: Check = ({ usage }) => {
  const url = URL.parse(usage.sinks?.otlp?.otlp_endpoint ?? '')
  if (url === null || (url.search === '' && url.hash === '')) return []
  const fix = 'Write the base URL alone, such as http://host:4318, and credentials as otlp_headers.'
  return [refuse([...OTLP, 'otlp_endpoint'], 'holds a query or fragment', fix)]
}

const somewhereToSend: Check = ({ usage }) => {
  const { sinks } = usage
  if (sinks === undefined || Object.values(sinks).some((sink) => sink !== undefined)) return []
  const fix = 'Write file:, webhook: or otlp: below it, or remove it.'
  return [refuse(at('usage', 'sinks'), 'names no sink', fix)]
}

export const usageChecks = [recordsHaveACollector, collectorIsABase, somewhereToSend]
