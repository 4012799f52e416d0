/** The services beside the models: opened with the process, and updated by each new configuration. */
import { Embeddings } from '../auxiliaries/embeddings.ts'
import type { Deadlines } from '../base/clock.ts'
import { readText } from '../config/document/source.ts'
import { Guards } from '../guardrails/guards.ts'
import { Issuers, type IssuersWorld } from '../identity/issuers.ts'
import { Retrievals } from '../retrieval/retrievals.ts'
import type { Section } from '../schema/index.ts'
import { Classifiers } from '../semantic/classifiers.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Targets } from '../upstream/live/targets.ts'
import type { EmbeddingsRequest } from '../wire/inner-form.ts'
import type { Reading } from '../wire/reading.ts'
import type { Gateway } from './gateway.ts'

type Services = Pick<Gateway, 'guards' | 'issuers' | 'retrievals' | 'embeddings' | 'classifiers'>

interface World extends Omit<IssuersWorld, 'metrics'> {
  readonly deadlines: Deadlines
  readonly metrics: Metrics
  readonly targets: Targets
  /** How the API of embeddings reads its bodies. */
  readonly reading: Reading<EmbeddingsRequest>
}

export function openServices(section: Section, world: World): Services {
  const { clock, deadlines, metrics } = world
  const embeddings = new Embeddings(world)
  const services: Services = {
    guards: new Guards({ clock, metrics }),
    issuers: new Issuers(world),
    retrievals: new Retrievals({ clock, metrics, readText }),
    embeddings,
    classifiers: new Classifiers({ embeddings, deadlines, clock }),
  }
  leadServices(services, section)
  return services
}

export function leadServices(
  { guards, issuers, retrievals, classifiers }: Services,
  section: Section,
): void {
  guards.follow(section)
  issuers.follow(section)
  retrievals.follow(section)
  classifiers.follow(section)
}
