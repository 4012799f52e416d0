/** `gw tokens verify`: asks the gateway how much its counts of prompts differ from those of an upstream. */
import { z } from 'zod'
import type { Place } from '../asking/place.ts'
import type { Format } from '../printing/formats.ts'
import { printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import { tryOut } from './trial.ts'

export const TokensTrial = z.looseObject({
  upstream: z.string(),
  ok: z.boolean(),
  exact: z.boolean(),
  by: z.string().optional(),
  source: z.string(),
  drift: z.number().optional(),
  tolerance: z.number(),
  samples: z.array(z.object({ sample: z.number(), counted: z.number(), upstream: z.number() })),
  failures: z.array(z.string()),
})
type TokensAnswer = z.output<typeof TokensTrial>

/** The gateway tries the prompts one after the other. */
const TIMEOUT_MS = 600_000

export interface TokensVerification {
  readonly upstream: string
  readonly sample: number
  readonly output: Format
}

export async function verifyTokens({ upstream, sample, output }: TokensVerification, place: Place) {
  const trial = {
    path: `/tokens/verify?upstream=${encodeURIComponent(upstream)}&sample=${sample}`,
    asking: { method: 'POST', timeoutMs: TIMEOUT_MS } as const,
    what: 'tokens are counted',
    output,
    read: (answered: unknown) => TokensTrial.parse(answered),
    isGood: ({ ok }: TokensAnswer) => ok,
    namesOf: (answer: TokensAnswer) => [answer.upstream],
    print,
  }
  await tryOut(trial, place)
}

function print({
  upstream,
  exact,
  by,
  source,
  drift,
  tolerance,
  samples,
  failures,
}: TokensAnswer): void {
  printTable(
    ['SAMPLE', 'GATEWAY', 'UPSTREAM'],
    samples.map(({ sample, counted, upstream: theirs }) => [sample, counted, theirs]),
  )
  for (const failure of new Set(failures)) printLine(`not counted: ${failure}`)
  if (drift === undefined) {
    printLine(`${upstream}: no counts could be compared`)
    return
  }
  const how = by === undefined ? '' : ` by ${by}`
  const kind = exact ? `exact${how}` : `an estimate${how}`
  const verdict = drift <= tolerance ? 'within' : 'beyond'
  const share = `${percent(drift)} off, ${verdict} ${percent(tolerance)}`
  printLine(`${upstream}: ${share}; the gateway's count is ${kind}, the upstream's its ${source}`)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`
}
