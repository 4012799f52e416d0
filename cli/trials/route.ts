/** `gw gateway test`: runs a request on each route of the gateway, and shows each attempt. */
import { z } from 'zod'
import { type AskedGateway, withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { paint } from '../printing/colours.ts'
import { type Format, printData } from '../printing/formats.ts'
import { EXIT, printLine, telling } from '../printing/output.ts'

const Attempt = z.looseObject({
  upstream: z.string(),
  outcome: z.string(),
  simulated: z.boolean(),
  status: z.number().optional(),
  ms: z.number(),
  reason: z.string().optional(),
})

export const RouteResult = z.looseObject({
  route: z.string(),
  ok: z.boolean(),
  status: z.number(),
  upstream: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  attempts: z.array(Attempt),
})

type RouteResult = z.output<typeof RouteResult>

const Refusal = z.object({ error: z.object({ message: z.string() }) })
const Configured = z.looseObject({
  gw: z.looseObject({ routes: z.array(z.looseObject({ name: z.string() })) }),
})

/** An upstream may use its whole timeout, and its fallbacks follow. */
const TIMEOUT_MS = 600_000

export interface RouteTest {
  readonly route: string | undefined
  readonly fail: 'server' | 'rate_limited' | undefined
  readonly output: Format
}

export async function testRoutes({ route, fail, output }: RouteTest, place: Place): Promise<void> {
  const outcomes = await withGateways(place, async ([gateway]) => {
    const names = route === undefined ? await routesOf(gateway) : [route]
    const found: RouteResult[] = []
    for (const name of names) found.push(await follow(name, fail, gateway))
    return found
  })
  if (!outcomes.every(({ ok }) => ok)) process.exitCode = EXIT.no
  await printData(output, {
    value: { routes: outcomes },
    names: outcomes.map(({ route: name }) => name),
    print: () => outcomes.forEach(print),
  })
}

async function routesOf(gateway: AskedGateway): Promise<string[]> {
  const { body } = await gateway.ask('/config')
  return Configured.parse(body).gw.routes.map(({ name }) => name)
}

async function follow(
  route: string,
  fail: string | undefined,
  gateway: AskedGateway,
): Promise<RouteResult> {
  const query = new URLSearchParams({ route, ...(fail !== undefined && { fail }) })
  const asking = { method: 'POST', timeoutMs: TIMEOUT_MS } as const
  const answer = gateway.ask(`/routes/test?${query}`, asking)
  const { status, body } = await telling(`route ${route} is tested at ${gateway.name}`, answer)
  if (status === 200) return RouteResult.parse(body)
  const { message } = Refusal.parse(body).error
  return { route, ok: false, status, message, attempts: [] }
}

function print({ route, ok, status, upstream, code, message, attempts }: RouteResult): void {
  const verdict = paint(ok ? 'ok' : 'failed', ok ? 'green' : 'red', process.stdout)
  const end = ok ? `${upstream} answers` : `${status} ${code ?? ''}: ${message}`
  printLine(`${route}: ${verdict}, ${end}`)
  for (const [index, attempt] of attempts.entries()) {
    const simulated = attempt.simulated ? ' (simulated)' : ''
    const why = attempt.reason === undefined || attempt.simulated ? '' : `: ${attempt.reason}`
    const { upstream: at, outcome, ms } = attempt
    printLine(`  attempt ${index + 1} at ${at}: ${outcome}${simulated}, ${ms} ms${why}`)
  }
}
