/**
 * Measures the time that the reader of JSON saves: one configuration of 10,000 tenants, read as JSON and, after a
 * comment, as YAML.
 */
import { parseDocument } from '../../../dataplane/config/document/document.ts'

const RUNS = 5

const tenants = Array.from({ length: 10_000 }, (_, index) => ({
  tenant: `tenant-${index}`,
  requests_per_minute: 60 + index,
  burst: 15,
  concurrent_requests: 4,
}))
const gw = { rate_limits: { tenants } }
const json = JSON.stringify({ apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw })

function medianMs(text: string): number {
  const times = Array.from({ length: RUNS }, () => {
    const startedAt = performance.now()
    const { problems } = parseDocument(text, 'configuration')
    if (problems.length > 0) throw new Error(problems[0]?.message)
    return performance.now() - startedAt
  })
  return times.toSorted((one, other) => one - other)[RUNS >> 1] ?? Number.NaN
}

const [asJson, asYaml] = [medianMs(json), medianMs(`# YAML\n${json}`)]
console.log(`JSON ${asJson.toFixed(0)} ms, YAML ${asYaml.toFixed(0)} ms`)
