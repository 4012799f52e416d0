/** Updates the gauges of the listener's certificate at each scrape. */
import { factsOf } from '../config/listener-certificate.ts'
import type { Observed } from './observed.ts'

type Shown = Pick<Observed, 'active' | 'clock' | 'metrics'>

export function showCertificateAtScrapes(gateway: Shown): void {
  gateway.metrics.listenerExpiry.collect = () => show(gateway)
}

function show({ active, clock, metrics }: Shown): void {
  const { tls } = active.snapshot.section.gateway
  const facts = tls && factsOf(tls)
  const { listenerExpiry, listenerLifetime } = metrics
  for (const family of [listenerExpiry, listenerLifetime])
    family.retain('name', (name) => name === facts?.name)
  if (facts === undefined) return
  listenerExpiry.at(facts.name).value = Math.floor((facts.until - clock.wall()) / 1000)
  listenerLifetime.at(facts.name).value = (facts.until - facts.from) / 1000
}
