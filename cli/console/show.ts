/** Serves the console until Ctrl-C, and follows the pods of a gateway. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type AskedGateways, withGateways } from '../asking/asked-gateways.ts'
import type { InCluster, Place } from '../asking/place.ts'
import { printLine, printRemark } from '../printing/output.ts'
import { leaving } from '../until-signal.ts'
import { startConsole } from './server.ts'

export interface Showing {
  readonly place: Place
  readonly port: number
  readonly opensBrowser: boolean
  /** A dashboard that the page links to. */
  readonly grafana: string | undefined
}

/** How often the tool looks for new pods, because a new pod does not announce itself. */
const LOOK_MS = 60_000
/** If a pod does not answer, the tool looks for pods sooner. */
const AGAIN_MS = 5000
const TOKEN_BYTES = 24

export async function showConsole({ place, port, opensBrowser, grafana }: Showing): Promise<void> {
  const left = leaving()
  let silence = new AbortController()
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const server = await startConsole({
    port,
    token,
    onSilence: () => silence.abort(),
    grafana,
    ...(place.kind === 'cluster' && { readResource: () => resourceOf(place) }),
  })
  let isShown = false
  const say = () => {
    if (isShown) return
    isShown = true
    printLine(server.url)
    printRemark('The console is at this address until Ctrl-C.')
    if (opensBrowser) open(server.url)
  }
  try {
    while (!left.aborted) {
      silence = new AbortController()
      const look = withGateways(place, async (gateways) => {
        if (!isShown) await oneAnswers(gateways)
        server.follow(gateways)
        say()
        await until(AGAIN_MS, left)
        await until(LOOK_MS, AbortSignal.any([left, silence.signal]))
      })
      // Without a first answer there is nothing to show; later the page shows the problem.
      await look.catch(async (error) => {
        if (!isShown) throw error
        await until(AGAIN_MS, left)
      })
    }
  } finally {
    await server.close()
  }
}

/** A pod knows only its own state; the operator knows what each pod enforces. The configuration comes from the pods. */
async function resourceOf(place: InCluster) {
  const { findGateway, withCluster } = await import('../asking/cluster-access.ts')
  return await withCluster(place, async (access) => {
    const { metadata, status } = await findGateway(access)
    const { name, namespace, generation } = metadata
    return { metadata: { name, namespace, generation }, status }
  })
}

/** Throws if no gateway answers. */
async function oneAnswers(gateways: AskedGateways): Promise<void> {
  const answers = await Promise.allSettled(gateways.map(({ ask }) => ask('/status')))
  const [first] = answers
  if (first?.status === 'rejected' && answers.every(({ status }) => status === 'rejected'))
    throw first.reason
}

async function until(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Without a browser, the user opens the printed address. */
function open(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => printRemark('No browser could be opened; open the address yourself.'))
  child.unref()
}
