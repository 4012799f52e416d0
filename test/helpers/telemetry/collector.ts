/** A real collector of OpenTelemetry, which keeps received data in a file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { providePrograms } from '../kubernetes/programs.ts'
import { until } from '../until.ts'

export type StoredValue = string | number | boolean

export interface StoredSpan {
  readonly resource: Readonly<Record<string, StoredValue>>
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, StoredValue>>
  readonly status: { readonly code?: number }
}

export interface StoredRecord {
  readonly resource: Readonly<Record<string, StoredValue>>
  readonly severityText: string
  readonly body: StoredValue
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, StoredValue>>
}

/** One point, in the form of its metric. */
export interface StoredPoint {
  readonly resource: Readonly<Record<string, StoredValue>>
  readonly name: string
  readonly unit: string
  readonly kind: 'gauge' | 'sum' | 'histogram'
  readonly aggregationTemporality: number | undefined
  readonly isMonotonic: boolean | undefined
  readonly attributes: Readonly<Record<string, StoredValue>>
  readonly startTimeUnixNano: string
  readonly asDouble: number
  readonly count: string
  readonly sum: number
  readonly bucketCounts: readonly string[]
  readonly explicitBounds: readonly number[]
  readonly exemplars?: readonly { readonly traceId: string; readonly asDouble: number }[]
}

export interface RunningCollector {
  readonly url: string
  spans(): Promise<StoredSpan[]>
  records(): Promise<StoredRecord[]>
  points(): Promise<StoredPoint[]>
  stop(): Promise<void>
}

export async function startCollector(): Promise<RunningCollector> {
  const { otelcol = '' } = await providePrograms(['otelcol'])
  const folder = await mkdtemp(join(tmpdir(), 'gw-collector-'))
  const file = join(folder, 'stored.jsonl')
  const port = await freePort()
  await writeFile(join(folder, 'config.yaml'), configurationOf(port, file))
  const child = spawn(otelcol, ['--config', join(folder, 'config.yaml')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  const url = `http://127.0.0.1:${port}`
  await until('the collector listens', async () => {
    if (child.exitCode !== null) throw new Error(`The collector ended: ${said}`)
    return await accepts(url)
  })
  const read = () => readStored(file)
  return {
    url,
    spans: async () => (await read()).flatMap((batch) => itemsIn(batch, 'Spans', 'spans')) as never,
    records: async () =>
      (await read()).flatMap((batch) => itemsIn(batch, 'Logs', 'logRecords')) as never,
    points: async () =>
      (await read()).flatMap((batch) => itemsIn(batch, 'Metrics', 'metrics')).flatMap(pointsIn),
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
      await rm(folder, { recursive: true })
    },
  }
}

function configurationOf(port: number, file: string): string {
  const pipeline = { receivers: ['otlp'], exporters: ['file'] }
  // JSON is YAML.
  return JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { file: { path: file, flush_interval: '100ms' } },
    service: {
      pipelines: { traces: pipeline, metrics: pipeline, logs: pipeline },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
    },
  })
}

async function accepts(url: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json' }
  const asked = fetch(`${url}/v1/traces`, { method: 'POST', headers, body: '{}' })
  return await asked.then(
    ({ ok }) => ok,
    () => false,
  )
}

type Fields = Readonly<Record<string, unknown>>

/** Whole lines; the last one may still be written. */
async function readStored(file: string): Promise<Fields[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split('\n').slice(0, -1)
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Fields)
}

function itemsIn(batch: Fields, kind: string, items: string): Fields[] {
  const resources = (batch[`resource${kind}`] ?? []) as Fields[]
  return resources.flatMap((one) => {
    const resource = attributesOf((one.resource as Fields).attributes)
    const scopes = (one[`scope${kind}`] ?? []) as Fields[]
    return scopes
      .flatMap((scope) => (scope[items] ?? []) as Fields[])
      .map((item) => ({
        ...item,
        resource,
        attributes: attributesOf(item.attributes),
        body: shownValue((item.body ?? {}) as Fields),
      }))
  })
}

function pointsIn(metric: Fields): StoredPoint[] {
  const kind = (['gauge', 'sum', 'histogram'] as const).find((name) => name in metric) ?? 'gauge'
  const { dataPoints = [], ...about } = metric[kind] as { dataPoints?: Fields[] }
  const { name, resource, unit = '' } = metric
  return dataPoints.map((point) => ({
    ...{ resource, name, unit, kind, ...about, ...point },
    attributes: attributesOf(point.attributes),
  })) as unknown as StoredPoint[]
}

function attributesOf(list: unknown): Record<string, StoredValue> {
  const pairs = (list ?? []) as { key: string; value: Fields }[]
  return Object.fromEntries(pairs.map(({ key, value }) => [key, shownValue(value)]))
}

function shownValue(value: Fields): StoredValue {
  const { stringValue, boolValue, intValue, doubleValue } = value
  if (intValue !== undefined) return Number(intValue)
  return (stringValue ?? boolValue ?? doubleValue ?? '') as StoredValue
}
