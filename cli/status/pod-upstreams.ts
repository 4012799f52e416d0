/** The upstreams of a gateway over all its pods: sums, and the pods that differ. */
import { z } from 'zod'
import { TOKENS } from '../printing/tables/tokens-text.ts'
import { BREAKER } from '../printing/tables/upstreams-text.ts'
import type { PodAnswer } from './pod-answers.ts'
import { endpointsOf, type UpstreamOfAll } from './pod-endpoints.ts'
import type { ShownUpstream } from './upstreams-table.ts'

const Upstream = z.looseObject({
  name: z.string(),
  provider: z.string(),
  eligible: z.boolean(),
  health: z.string(),
  ...BREAKER,
  in_flight: z.number(),
  why: z.string().optional(),
  endpoint: z.string().optional(),
  ...TOKENS,
})
const Answer = z.looseObject({ upstreams: z.array(Upstream).default([]) })

type SeenUpstream = z.output<typeof Upstream> & { readonly pod: string }

/** The view of most pods; `differing` contains the others. */
export interface PodsUpstream extends Omit<UpstreamOfAll, 'name'> {
  readonly name: string
  readonly provider: string
  /** In every pod. */
  readonly eligible: boolean
  readonly health: string
  readonly breaker: string
  readonly in_flight: number
  readonly why?: string | undefined
  readonly differing: readonly Differing[]
}

interface Differing {
  readonly pod: string
  readonly eligible: boolean
  readonly health: string
  readonly breaker: string
  readonly why?: string | undefined
}

export interface PodsUpstreams {
  /** For programs. */
  readonly value: readonly PodsUpstream[]
  readonly rows: readonly ShownUpstream[]
}

/** In the order of the first pod. Invalid answers add nothing. */
export function upstreamsOf(answers: readonly PodAnswer[]): PodsUpstreams {
  const seen = answers.flatMap(({ pod, body }): SeenUpstream[] => {
    const parsed = Answer.safeParse(body)
    return parsed.success ? parsed.data.upstreams.map((one) => ({ ...one, pod })) : []
  })
  const endpoints = new Map(endpointsOf(answers).map((one) => [one.name, one]))
  const all = [...Map.groupBy(seen, ({ name }) => name).values()]
  return {
    value: all.map((views) => together(views, endpoints)),
    rows: all.map(rowOf),
  }
}

function together(
  views: readonly SeenUpstream[],
  endpoints: ReadonlyMap<string, UpstreamOfAll>,
): PodsUpstream {
  const usual = usualOf(views, standOf)[0] as SeenUpstream
  const { name, provider, health, breaker, why } = usual
  const differing = views.filter((view) => standOf(view) !== standOf(usual))
  return {
    ...{ name, provider, health, breaker },
    eligible: views.every(({ eligible }) => eligible),
    in_flight: sumOf(views),
    ...(why !== undefined && { why }),
    ...endpoints.get(name),
    differing: differing.map((one) => ({
      ...{ pod: one.pod, eligible: one.eligible, health: one.health, breaker: one.breaker },
      ...(one.why !== undefined && { why: one.why }),
    })),
  }
}

function rowOf(views: readonly SeenUpstream[]): ShownUpstream {
  const [first] = views as [SeenUpstream]
  const isSame = views.every(({ eligible }) => eligible === first.eligible)
  const reasons = views.filter(({ why }) => why !== undefined)
  return {
    name: first.name,
    provider: first.provider,
    eligible: isSame ? first.eligible : said(views, ({ eligible }) => (eligible ? 'yes' : 'no')),
    health: said(views, ({ health }) => health),
    breaker: said(views, ({ breaker }) => breaker),
    in_flight: sumOf(views),
    tokens: first.tokens,
    endpoint: first.endpoint,
    ...(reasons.length > 0 && { why: whyOf(reasons, views.length) }),
  }
}

/** `closed`, or `closed; open at production-2`. */
function said(views: readonly SeenUpstream[], of: (view: SeenUpstream) => string): string {
  const usual = of(usualOf(views, of)[0] as SeenUpstream)
  const others = views.filter((view) => of(view) !== usual)
  return [usual, ...others.map((view) => `${of(view)} at ${view.pod}`)].join('; ')
}

function whyOf(reasons: readonly SeenUpstream[], pods: number): string {
  const groups = [...Map.groupBy(reasons, ({ why }) => why)]
  return groups
    .map(([why, views]) =>
      views.length === pods ? why : `${why} (${views.map(({ pod }) => pod).join(', ')})`,
    )
    .join('; ')
}

/** The views of the largest group; the first of equal groups. */
function usualOf(
  views: readonly SeenUpstream[],
  of: (view: SeenUpstream) => string,
): readonly SeenUpstream[] {
  const groups = [...Map.groupBy(views, of).values()]
  return groups.toSorted((one, other) => other.length - one.length)[0] ?? []
}

function standOf({ eligible, health, breaker, why }: SeenUpstream): string {
  return JSON.stringify([eligible, health, breaker, why])
}

function sumOf(views: readonly SeenUpstream[]): number {
  return views.reduce((sum, { in_flight }) => sum + in_flight, 0)
}
