/** One run of the load generator, from its options to its line of results. */
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { KEY, ROUTE } from './gateway.ts'
import { LOAD_CORE, startProcess } from './processes.ts'

const BODY_BYTES = 1_024

export interface LoadOptions {
  readonly program: string
  /** Several: each connection goes to one of them, in turn. */
  readonly port: number | readonly number[]
  /** A file with a key in each line; the first is used most often. Absent: the key of the plan. */
  readonly keysFile?: string
  readonly seconds: number
  readonly connections: number
  /** The run ends after this many answers, if its time is not over before. */
  readonly requests?: number
  /** Requests per second of an open loop; a closed loop when absent. */
  readonly rate?: number
  readonly stream?: boolean
  /** Absent: chat completions through the route of the plan. */
  readonly operation?: LoadedOperation
  /** Opens the streams and keeps them for the given time. */
  readonly hold?: boolean
  /** Gets a line for each request: its scheduled time and the time of its answer, by the monotonic clock. */
  readonly logFile?: string
  /** Further headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The other operations, in addition to chat completions. */
export interface LoadedOperation {
  readonly path: string
  /** The route. */
  readonly model: string
  /** Whether to send a text for a vector instead of a conversation. */
  readonly isInput?: boolean
}

/** Names and units are those of the line that load.c prints. */
export interface LoadResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Us: number
  readonly p99Us: number
  readonly events: number
  readonly eventsPerSecond: number
  readonly non2xx: number
  readonly errors: number
  readonly unfinished: number
  readonly open: number
}

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const started = startProcess({
    name: 'load',
    core: LOAD_CORE,
    program: options.program,
    arguments: [
      ...[options.port].flat().flatMap((port) => ['--port', port]),
      ...['--seconds', options.seconds],
      ...['--connections', options.connections, '--body-bytes', BODY_BYTES],
      ...['--key', KEY, '--model', options.operation?.model ?? ROUTE],
      ...(options.operation === undefined ? [] : ['--path', options.operation.path]),
      ...(options.operation?.isInput ? ['--input'] : []),
      ...(options.keysFile === undefined ? [] : ['--keys', options.keysFile]),
      ...(options.requests === undefined ? [] : ['--requests', options.requests]),
      ...(options.rate === undefined ? [] : ['--rate', options.rate]),
      ...(options.stream ? ['--stream'] : []),
      ...(options.hold ? ['--hold'] : []),
      ...(options.logFile === undefined ? [] : ['--log', options.logFile]),
      ...(options.headers === undefined ? [] : ['--headers', headerLines(options.headers)]),
    ].map(String),
  })
  const output = started.child.stdout
  if (output === null) throw new Error('the load generator has no output')
  const [line, [code]] = await Promise.all([text(output), once(started.child, 'exit')])
  if (code !== 0) throw new Error(`the load generator ended with code ${code}`)
  return JSON.parse(line) as LoadResult // Our own program wrote the line.
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\r\n')
}

/** Requests without a good answer in time: with any of them a run proves nothing. */
export function failuresOf(result: LoadResult): number {
  return result.non2xx + result.errors + result.unfinished
}
