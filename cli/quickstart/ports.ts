/** Ports for the quickstart: the usual ones, or the next free ones. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { wholeNumber } from '../option-values.ts'

/** Number of following ports to try if a port is in use. */
const NEIGHBOURS_MAX = 200

/** The ports in the example. */
const USUAL_PORTS = { gateway: 8080, metrics: 9090, simulator: 9000 } as const

export const PORT_NAMES = ['gateway', 'metrics', 'simulator'] as const

export type QuickstartPorts = Readonly<Record<(typeof PORT_NAMES)[number], number>>

/** `--port`, `--metrics-port`, `--simulator-port`; absent: the usual ones. */
export function wantedPorts(given: readonly string[]): QuickstartPorts {
  const type = 'string'
  const { values } = parseArgs({
    args: [...given],
    options: {
      port: { type },
      'metrics-port': { type },
      'simulator-port': { type },
    },
  })
  const read = wholeNumber(1, 65_535)
  const either = (text: string | undefined, usual: number) =>
    text === undefined ? usual : read(text)
  return {
    gateway: either(values.port, USUAL_PORTS.gateway),
    metrics: either(values['metrics-port'], USUAL_PORTS.metrics),
    simulator: either(values['simulator-port'], USUAL_PORTS.simulator),
  }
}

/** Each wanted port if it is free, else the first free one above it; all three differ. */
export async function choosePorts(wanted: QuickstartPorts, host: string): Promise<QuickstartPorts> {
  const chosen = new Set<number>()
  const choose = async (from: number): Promise<number> => {
    for (let port = from; port <= Math.min(from + NEIGHBOURS_MAX, 65_535); port += 1) {
      if (chosen.has(port) || !(await isFree(port, host))) continue
      chosen.add(port)
      return port
    }
    throw new Error(`no port from ${from} on is free`)
  }
  return {
    gateway: await choose(wanted.gateway),
    metrics: await choose(wanted.metrics),
    simulator: await choose(wanted.simulator),
  }
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer()
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  const closed = once(server, 'close')
  server.close()
  await closed
  return true
}

/** The example with these ports instead of the usual ones. */
export function withPorts(example: string, ports: QuickstartPorts): string {
  const places = [
    ['listen_port: ', 'gateway'],
    ['metrics_port: ', 'metrics'],
    ['http://127.0.0.1:', 'simulator'],
    ['http://127.0.0.1:', 'gateway'],
  ] as const
  // One pass, so that a new port is not replaced again.
  const pattern = new RegExp(
    places.map(([before, name]) => `${before}${USUAL_PORTS[name]}\\b`).join('|'),
    'g',
  )
  return example.replaceAll(pattern, (found) => {
    const place = places.find(([before, name]) => found === `${before}${USUAL_PORTS[name]}`)
    return place === undefined ? found : `${place[0]}${ports[place[1]]}`
  })
}
