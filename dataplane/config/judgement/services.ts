/** Advice on services that have no provider because they speak exactly like one that has. */
import { PROVIDER_FACTS } from '../../providers/index.ts'
import { lettersOf } from '../document/canonical.ts'

const SERVICES = Object.values(PROVIDER_FACTS).flatMap(({ name, services = {} }) =>
  Object.entries(services).map(([service, endpoint]) => ({ name, service, endpoint })),
)

/** Shorter prefixes would match by chance. */
const NAME_LENGTH_MIN = 3

/** undefined if the service is not known. */
export function serviceAdvice(written: string): string | undefined {
  const letters = lettersOf(written)
  if (letters.length < NAME_LENGTH_MIN) return undefined
  const known = SERVICES.find(({ service }) => lettersOf(service).startsWith(letters))
  return known && `Write provider: ${known.name} and endpoint: ${known.endpoint}.`
}

export const SERVICES_ADVICE = adviceOnAll()

function adviceOnAll(): string {
  const [first] = SERVICES
  const names = SERVICES.map(({ service }) => service).join(', ')
  return first === undefined ? '' : `For ${names} and the like: ${first.name}, with endpoint.`
}
