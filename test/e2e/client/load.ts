/**
 * Runs in a pod: calls a gateway at a fixed rate and keeps streams open, without waiting for the
 * answers, and reports each result on port 7000. It never retries a request, so that each failure
 * is counted.
 */
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

interface Wanted {
  readonly url: string
  readonly key: string
  readonly model: string
  /** Requests started a second. */
  readonly rate: number
  /** The number of open streams, and what they request. */
  readonly streams: number
  readonly streamModel: string
  readonly maxTokens: number
}

interface Failure {
  readonly kind: 'request' | 'stream'
  readonly at: string
  readonly seconds: number
  readonly what: string
}

const MESSAGES = [{ role: 'user', content: 'one two' }]
const FAILURES_KEPT = 40
const SAMPLES_KEPT = 100_000
const wanted: Wanted = JSON.parse(process.argv[2] ?? '{}')
const statuses: Record<string, number> = {}
const pods: Record<string, number> = {}
const streams = { open: 0, opened: 0, completed: 0, cut: 0, refused: 0, longest: 0 }
const failures: Failure[] = []
const milliseconds: number[] = []
const beganAt = performance.now()
let begun = 0
let sessions = 0
let tokens = 0
let answered = 0
let lost = 0
let isStopping = false

function ask(model: string, stream: boolean): Promise<Response> {
  return fetch(`${wanted.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${wanted.key}`,
      // Each request is of another session; their texts are equal.
      'x-session-id': `session-${++sessions}`,
    },
    body: JSON.stringify({ model, stream, messages: MESSAGES, max_tokens: wanted.maxTokens }),
  })
}

async function call(): Promise<void> {
  const startedAt = performance.now()
  begun += 1
  try {
    const response = await ask(wanted.model, false)
    const text = await response.text()
    count(statuses, String(response.status))
    // Each request's id contains the tag of the pod.
    const tag = response.headers.get('x-request-id')?.split('-')[0]
    if (tag !== undefined) count(pods, tag)
    const answer = response.status === 200 ? JSON.parse(text) : undefined
    tokens += answer?.usage.total_tokens ?? 0
    if (answer?.choices.length === 1) answered += 1
    else fail('request', startedAt, `${response.status} ${text.slice(0, 200)}`)
  } catch (error) {
    count(statuses, 'none')
    fail('request', startedAt, reasonOf(error))
  }
  if (milliseconds.length < SAMPLES_KEPT) milliseconds.push(performance.now() - startedAt)
}

async function keepStreaming(): Promise<void> {
  while (!isStopping) {
    const startedAt = performance.now()
    streams.open += 1
    const end = await readStream(startedAt).catch((error: unknown) => reasonOf(error))
    streams.open -= 1
    const seconds = (performance.now() - startedAt) / 1000
    streams.longest = Math.max(streams.longest, seconds)
    if (end === 'done') streams.completed += 1
    else {
      streams[end.startsWith('status ') ? 'refused' : 'cut'] += 1
      fail('stream', startedAt, end)
      await delay(200)
    }
  }
}

/** 'done' only if the answer was marked complete and then ended properly. */
async function readStream(startedAt: number): Promise<string> {
  const response = await ask(wanted.streamModel, true)
  if (response.status !== 200) return `status ${response.status} ${await response.text()}`
  streams.opened += 1
  let end = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body ?? []) {
    end = (end + decoder.decode(piece, { stream: true })).slice(-400)
  }
  if (end.includes('data: [DONE]')) return 'done'
  return `ended after ${((performance.now() - startedAt) / 1000).toFixed(1)} s with ${end.slice(-200)}`
}

function fail(kind: Failure['kind'], startedAt: number, what: string): void {
  if (kind === 'request') lost += 1
  const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3))
  const failure = { kind, at: new Date().toISOString(), seconds, what }
  if (failures.length < FAILURES_KEPT) failures.push(failure)
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error ? `${error}: ${cause.message}` : String(error)
}

function count(into: Record<string, number>, name: string): void {
  into[name] = (into[name] ?? 0) + 1
}

function report(): object {
  const sorted = milliseconds.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
  const times = { p50: at(0.5), p99: at(0.99), max: Math.round(sorted.at(-1) ?? 0) }
  const open = begun - answered - lost
  const seconds = (performance.now() - beganAt) / 1000
  return {
    seconds,
    tokens,
    begun,
    answered,
    lost,
    open,
    statuses,
    pods,
    streams,
    milliseconds: times,
    failures,
  }
}

/** By the clock and not by ticks, so that delays of a busy machine are made up. */
async function keepCalling(): Promise<void> {
  while (!isStopping) {
    const due = Math.floor(((performance.now() - beganAt) / 1000) * wanted.rate)
    // After a long pause not everything at once: that would be another test.
    for (let more = Math.min(due - begun, 50); more > 0; more -= 1) void call()
    await delay(4)
  }
}

const server = createServer(async (request, response) => {
  if (request.url === '/stop') {
    isStopping = true
    while (begun > answered + lost || streams.open > 0) await delay(20)
  }
  response.end(JSON.stringify(report()))
})
server.listen(7000, '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
for (let number = 0; number < wanted.streams; number += 1) {
  void keepStreaming()
  // Not all at the same moment, because users do not do that.
  if (number % 5 === 4) await delay(200)
}
await keepCalling()
